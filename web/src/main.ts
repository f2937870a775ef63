import "./views/page";

// plain HTTP on another host than this machine has no workers: then the page needs the server to be opened
if (import.meta.env.PROD && "serviceWorker" in navigator) {
  addEventListener("load", () => void navigator.serviceWorker.register("/sw.js").catch(() => undefined));
}
