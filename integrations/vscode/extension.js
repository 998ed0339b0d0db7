// Starts the language server of kubectl-tas, and shows what it draws. The server answers commands of code lenses with an
// SVG picture, or with text where there is none.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["yaml", "json"];
const SCHEME = "kubectl-tas";

let client;

exports.activate = async (context) => {
  const texts = new Map();
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: (uri) => texts.get(uri.path) ?? "",
    }),
  );

  async function show(title, answer) {
    if (answer.startsWith("<svg")) {
      const panel = vscode.window.createWebviewPanel(SCHEME, title, vscode.ViewColumn.Beside, { enableScripts: false });
      panel.webview.html = page(answer);
      return;
    }
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${title}-${texts.size}.txt` });
    texts.set(uri.path, answer);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside);
  }

  client = new LanguageClient(
    "kubectl-tas",
    { command: vscode.workspace.getConfiguration("kubectl-tas").get("path"), args: ["lsp"] },
    {
      documentSelector: LANGUAGES.map((language) => ({ scheme: "file", language })),
      initializationOptions: { showsAnswers: true },
      middleware: {
        executeCommand: async (command, [file, work], next) => {
          const answer = await next(command, [file, work, "svg"]);
          if (answer) await show(work.replace("/", " "), answer);
        },
      },
    },
  );
  await client.start();
};

exports.deactivate = () => client?.stop();

// An image runs no script and loads nothing, whatever stands in it.
function page(svg) {
  const source = `data:image/svg+xml;base64,${Buffer.from(svg, "utf-8").toString("base64")}`;
  const policy = "default-src 'none'; img-src data:";
  return `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="${policy}"><img src="${source}" alt="">`;
}
