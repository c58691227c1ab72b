// Browsers start no workers for pages that are opened from disk. There, the search's worker runs in a
// hidden frame instead: the same script, the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #loaded;

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const scope = frame.contentWindow;
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = scope.document.createElement("script");
      script.src = url;
      this.#loaded = new Promise((resolve) => script.addEventListener("load", () => resolve(scope)));
      scope.document.body.append(script);
    }

    async postMessage(data) {
      const scope = await this.#loaded;
      scope.dispatchEvent(new scope.MessageEvent("message", { data }));
    }
  };
}
