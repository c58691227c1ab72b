// Films of policies; each is loaded when it comes near the view.

function filmsSection() {
  if (meta.films.length + meta.filmsLeftOut.length === 0) {
    return missingSection("films", "Films", "No films of policies.", "mixedne watch RUN --mass 1.5 --out film.mp4");
  }
  const section = new Section("films", "Films");
  const host = element("div", { class: "films" });
  section.body.append(host, leftOutFilms());
  let loaded = false;
  return section.drawnBy(async () => {
    if (!loaded) host.append(...meta.films.map(film));
    loaded = true;
  });
}

function film({ type, caption }, place) {
  const address = `data:${type};base64,${document.getElementById(`film-${place}`).textContent}`;
  const shown = type.startsWith("image/")
    ? element("img", { src: address, alt: caption })
    : element("video", { src: address, controls: true, muted: true, preload: "metadata", "aria-label": caption });
  return element("figure", { class: "film" }, shown, element("figcaption", {}, caption));
}

function leftOutFilms() {
  if (meta.filmsLeftOut.length === 0) return "";
  const items = meta.filmsLeftOut.map(({ name, caption }) =>
    element("li", {}, `${caption}: `, element("code", {}, name)));
  return element("div", {}, element("p", {}, "Not in this page, to keep it small, or not found:"),
    element("ul", {}, ...items));
}
