// What the visitor looks at, and the link that says so: everything stands behind the address's '#'.

const DEFAULTS = {
  expression: "523+102+9416", model: "", compare: "", halting: "", seed: 0, step: 0, row: 0, column: -1, head: 0,
};
const NUMBERS = ["seed", "step", "row", "column", "head"];

export function stateOf(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) {
    if (!given.has(name)) continue;
    const value = given.get(name);
    if (!NUMBERS.includes(name)) state[name] = value;
    else if (/^-?\d{1,15}$/.test(value)) state[name] = Number(value);
  }
  return state;
}

export function hashOf(state) {
  const told = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== DEFAULTS[name] || name === "expression") told.set(name, value);
  }
  return `#${told}`;
}
