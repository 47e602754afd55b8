// Writes _static/bundle.js, all live figures in one file, and _static/bundle_katex, the style and fonts of the maths.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(dirname(fileURLToPath(import.meta.url)));

// A figure is a pair live/NAME.js and live/NAME.py; other scripts there are shared code.
const names = readdirSync("live")
  .filter((file) => file.endsWith(".js"))
  .map((file) => basename(file, ".js"))
  .filter((name) => existsSync(`live/${name}.py`));

const entry = [
  'import { mountAll } from "./live/main.js";',
  ...names.map((name, i) => `import figure${i} from "./live/${name}.js";`),
  `mountAll({ ${names.map((name, i) => `${JSON.stringify(name)}: figure${i}`).join(", ")} });`,
].join("\n");

await build({
  stdin: { contents: entry, resolveDir: ".", sourcefile: "figures.js" },
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  outfile: "_static/bundle.js",
  logLevel: "warning",
});

const katex = "node_modules/katex/dist";
rmSync("_static/bundle_katex", { recursive: true, force: true });
mkdirSync("_static/bundle_katex/fonts", { recursive: true });
cpSync(`${katex}/katex.min.css`, "_static/bundle_katex/katex.min.css");
for (const font of readdirSync(`${katex}/fonts`).filter((file) => file.endsWith(".woff2"))) {
  cpSync(`${katex}/fonts/${font}`, `_static/bundle_katex/fonts/${font}`);
}
console.log(`bundle.js: ${names.length} figures (${names.join(", ")})`);
