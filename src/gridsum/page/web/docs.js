"use strict";
// The API's documentation, drawn from its OpenAPI document.
{
  const { html } = gridsum;
  const DEEPEST = 4;

  function resolved(api, schema) {
    if (!schema?.$ref) return schema ?? {};
    return schema.$ref.split("/").slice(1).reduce((node, name) => node[name], api);
  }

  function typeOf(api, schema) {
    const either = schema.anyOf ?? schema.oneOf;
    if (either) return either.map((one) => typeOf(api, one)).join(" or ");
    if (schema.$ref) return resolved(api, schema).title;
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.type === "array") {
      const inner = schema.prefixItems ? schema.prefixItems.map((item) => typeOf(api, item)).join(", ") : typeOf(api, schema.items ?? {});
      return `[${inner}]`;
    }
    return schema.type ?? "anything";
  }

  // The object inside a field, if there is one to describe.
  function inside(api, schema) {
    const target = resolved(api, schema.type === "array" ? schema.items : schema);
    return target.properties ? target : null;
  }

  function rows(api, schema, depth = 0) {
    const found = [];
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const needed = schema.required?.includes(name);
      const missing = field.default === undefined ? "" : ` (default: ${JSON.stringify(field.default)})`;
      const cell = html("td", {}, html("code", {}, name));
      cell.style.paddingLeft = `${depth * 1.2}rem`;
      found.push(html("tr", {}, cell, html("td", {}, typeOf(api, field)),
        html("td", {}, `${field.description ?? ""}${needed === false ? missing : ""}`)));
      const deeper = inside(api, field);
      if (deeper && depth < DEEPEST) found.push(...rows(api, deeper, depth + 1));
    }
    return found;
  }

  function table(api, title, schema) {
    const described = inside(api, schema);
    if (!described) return html("p", {}, `${title}: ${typeOf(api, schema)}`);
    const shape = schema.type === "array" ? `${title}, a list of` : title;
    return html("div", { class: "wide" }, html("p", {}, html("b", {}, shape), ` ${described.description ?? ""}`),
      html("table", {}, html("tbody", {}, ...rows(api, described))));
  }

  function example(method, path, body) {
    if (method === "get") return `curl ${location.origin}${path}`;
    const given = { expression: "523+102+9416" };
    for (const name of ["row", "column", "step"]) if (body.properties[name]) given[name] = 0;
    return `curl ${location.origin}${path} -H 'content-type: application/json' \\\n  -d '${JSON.stringify(given)}'`;
  }

  function operation(api, method, path, about) {
    const content = about.requestBody?.content["application/json"].schema;
    const body = content ? resolved(api, content) : null;
    const parts = [html("h2", {}, html("code", {}, `${method.toUpperCase()} ${path}`)), html("p", {}, about.description ?? "")];
    parts.push(html("pre", {}, example(method, path, body)));
    if (body) parts.push(table(api, "Takes", content));
    for (const parameter of about.parameters ?? []) {
      parts.push(html("p", {}, html("code", {}, `?${parameter.name}=`), ` ${typeOf(api, parameter.schema)}`));
    }
    parts.push(table(api, "Gives", about.responses["200"].content["application/json"].schema));
    const refusals = Object.entries(about.responses).filter(([status]) => status !== "200");
    parts.push(...refusals.map(([status, { description }]) => html("p", { class: "caption" }, `${status}: ${description}`)));
    return html("section", { class: "operation" }, ...parts);
  }

  async function get(address) {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response.json();
  }

  async function show() {
    const api = await get("/openapi.json");
    document.getElementById("summary").textContent = `${api.info.summary} Version ${api.info.version}.`;
    const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, about]) => operation(api, method, path, about)));
    document.getElementById("operations").append(...operations);
  }

  show().catch((error) => {
    const message = document.getElementById("message");
    message.textContent = error.message;
    message.hidden = false;
  });
}
