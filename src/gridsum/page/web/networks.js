"use strict";
// What is loaded when it is first wanted, such as the paper's networks. As scripts: a page opened from a file may not fetch.
{
  const loading = new Map();

  function script(address) {
    if (!loading.has(address)) {
      loading.set(address, new Promise((resolve, reject) => {
        const element = document.createElement("script");
        element.src = address;
        element.onload = resolve;
        element.onerror = () => {
          loading.delete(address);
          element.remove();
          reject(new gridsum.SumError(gridsum.t("mistake.loading", { file: address })));
        };
        document.head.append(element);
      }));
    }
    return loading.get(address);
  }

  const fileOf = (name) => gridsum.data.models.find((model) => model.name === name).file;

  async function network(name) {
    await script(`models/${fileOf(name)}.js`);
    const model = gridsum.models[name];
    model.network ??= new gridsum.PaperNetwork({ ...model.weights, name });
    return model.network;
  }

  // What was measured on it: the rules of its heads, the plane of its digits.
  async function inside(name) {
    await script(`models/${fileOf(name)}.inside.js`);
    return gridsum.models[name].inside;
  }

  Object.assign(gridsum, { loadScript: script, network, inside });
}
