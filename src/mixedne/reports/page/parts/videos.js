// Videos of policies.

function videosSection() {
  if (meta.videos.length + meta.videosLeftOut.length === 0) {
    return absent("Videos", "mixedne watch RUN --mass 1.5 --out video.mp4");
  }
  const section = new Section("videos", "Videos");
  const host = element("div", { class: "videos" });
  section.body.append(host, leftOutVideos());
  let loaded = false;
  return section.drawnBy(async () => {
    if (!loaded) host.append(...meta.videos.map(video));
    loaded = true;
  });
}

function video({ type, caption }, place) {
  const address = `data:${type};base64,${document.getElementById(`video-${place}`).textContent}`;
  const shown = type.startsWith("image/")
    ? element("img", { src: address, alt: caption })
    : element("video", { src: address, controls: true, muted: true, preload: "metadata", "aria-label": caption });
  return element("figure", { class: "video" }, shown, element("figcaption", {}, caption));
}

function leftOutVideos() {
  if (meta.videosLeftOut.length === 0) return "";
  const items = meta.videosLeftOut.map(({ name, caption }) =>
    element("li", {}, `${caption}: `, element("code", {}, name)));
  return element("div", {}, element("p", {}, "Not in this page, to keep it small, or not found:"),
    element("ul", {}, ...items));
}
