// Loads the extension with stubs of VS Code and of its client, and prints what it asks of them.
"use strict";

const Module = require("node:module");

const asked = [];
const said = (what) => (...values) => {
  asked.push([what, ...values]);
  return what === "createWebviewPanel" ? panel : { path: values[0]?.path };
};
const panel = { webview: {} };
const vscode = {
  ViewColumn: { Beside: -2 },
  Uri: { from: (parts) => parts },
  window: { createWebviewPanel: said("createWebviewPanel"), showTextDocument: said("showTextDocument") },
  workspace: {
    getConfiguration: (section) => ({ get: (key) => `${section}.${key}` }),
    openTextDocument: async (uri) => ({ text: provider.provideTextDocumentContent(uri) }),
    registerTextDocumentContentProvider: (scheme, given) => ((provider = given), scheme),
  },
};
let provider, client;
class LanguageClient {
  constructor(...given) {
    client = this;
    [this.id, this.server, this.options] = given;
  }
  start = said("start");
  stop = said("stop");
}
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? vscode : name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);

(async () => {
  const extension = require(process.argv[2]);
  const context = { subscriptions: [] };
  await extension.activate(context);
  const run = (answer) =>
    client.options.middleware.executeCommand("tas.showTree", ["file:///a", "Job/train"], (...given) => {
      asked.push(["next", ...given]);
      return answer;
    });
  await run("<svg><script>x</script></svg>");
  await run("no room");
  await run(null);
  extension.deactivate();
  const { id, server, options } = client;
  const { documentSelector, initializationOptions } = options;
  const html = panel.webview.html;
  console.log(JSON.stringify({ id, server, documentSelector, initializationOptions, html, asked, context }));
})();
