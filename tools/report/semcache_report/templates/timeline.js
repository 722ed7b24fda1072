// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The timeline: lanes on a canvas that is as large as what one sees of them. Times are in tenths of a microsecond.
"use strict";
const timeline = (() => {
  const data = page.data.timeline, box = document.getElementById("tl");
  if (!box) return null;
  const canvas = document.getElementById("tl-canvas"), space = document.getElementById("tl-space"), pen = canvas.getContext("2d");
  const element = (name) => document.getElementById("tl-" + name);
  const kindNames = {
    h2d: "copy to a device",
    d2h: "copy to the host",
    between_devices: "copy between devices",
    inside: "copy within a memory",
    fill: "fill",
    map: "map memory",
    evict: "evict",
    fault: "host fault",
    launch: "launch",
    kernel: "kernel",
    other: "copy or fill of other code",
    wait: "wait"
  };
  const axisHeight = 24, headHeight = 24, rowHeight = 13, gap = 5, columns = "tdrknbcsw";
  const texts = data.texts, time = (tenths) => page.humanTime(tenths / 10);
  const x = d3.scale.linear().domain([0, data.end]);
  let width = 0, height = 0, gutter = 0, rows = [], colours = {}, found = [], at = -1, chosen = null, hovered = null, cursor = 0, matching = null,
      frame = 0;

  const unpack = (lane) => {
    const size = lane.t.length;
    for (const key of columns) {
      const packed = lane[key], plain = new Float64Array(size);
      for (let i = 0, last = 0; i < size; ++i) {
        const value = Array.isArray(packed) ? packed[i] : packed;
        plain[i] = key === "t" ? last += value : value;
      }
      lane[key] = plain;
    }
  };
  data.groups.forEach((group) => {
    group.open = data.groups.length <= 4;
    group.lanes.forEach(unpack);
  });

  const layOut = () => {
    let top = axisHeight;
    rows = [];
    data.groups.forEach((group) => {
      rows.push({group, top, height: headHeight});
      top += headHeight;
      if (!group.open) return;
      group.lanes.forEach((lane) => {
        const high = lane.rows * rowHeight + gap;
        rows.push({group, lane, top, height: high});
        top += high;
      });
    });
    cursor = Math.min(cursor, rows.length - 1);
    width = box.clientWidth;
    height = Math.min(top + 2, parseFloat(getComputedStyle(box).maxHeight) || top + 2);
    gutter = width < 640 ? 104 : 184;
    x.range([gutter, width - 8]);
    space.style.height = top + 2 + "px";
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    draw();
  };
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "soft", "line", "panel", "link", "found", ...Object.keys(kindNames)])
      colours[name] = style.getPropertyValue("--" + name).trim();
  };
  const draw = () => {
    frame = frame || requestAnimationFrame(() => {
              frame = 0;
              paint();
            });
  };

  const paintSpans = (lane, top, high, flat) => {
    const [from, to] = x.domain(), scale = (width - 8 - gutter) / (to - from);
    let last = -1;
    for (let i = 0; i < lane.t.length; ++i) {
      const begin = lane.t[i], end = begin + lane.d[i];
      if (end < from || begin > to) continue;
      const left = Math.max(gutter, gutter + (begin - from) * scale), right = Math.min(width - 8, gutter + (end - from) * scale),
            w = Math.max(1, right - left);
      const is_found = matching && matches(lane, i), place = Math.round(left * 2) * 4 + (flat ? 0 : lane.r[i]);
      if (w <= 1 && place === last && !is_found) continue;  // it would be drawn over its neighbour
      last = place;
      pen.globalAlpha = matching && !is_found ? 0.18 : lane.c[i] > 1 ? 0.6 : 1;  // a joined span was not busy all the time
      pen.fillStyle = colours[texts[lane.k[i]]] || colours.soft;
      const y = top + (flat ? 0 : lane.r[i] * rowHeight), h = flat ? high : rowHeight - 1;
      pen.fillRect(left, y, w, h);
      if (chosen && chosen.lane === lane && chosen.i === i) {
        pen.globalAlpha = 1;
        pen.lineWidth = 2;
        pen.strokeStyle = colours.found;
        pen.strokeRect(left - 1, y - 1, w + 2, h + 2);
      }
      if (!flat && w > 46) {
        pen.fillStyle = colours.paper;
        pen.save();
        pen.beginPath();
        pen.rect(left, y, w - 3, h);
        pen.clip();
        pen.fillText(page.one_line(texts[lane.n[i]]), left + 3, y + h / 2 + 0.5);
        pen.restore();
      }
    }
    pen.globalAlpha = 1;
  };
  const paintName = (text, left, y, most) => {
    let shown = page.one_line(text);
    while (shown.length > 4 && pen.measureText(shown).width > most) shown = shown.slice(0, shown.length > 40 ? 40 : -2) + "…";
    pen.fillText(shown, left, y);
  };
  const paintAxis = () => {
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, axisHeight);
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    const ticks = x.ticks(Math.max(2, Math.floor((width - gutter) / 110)));
    ticks.forEach((t) => {
      if (x(t) > gutter + 16 && x(t) < width - 30) pen.fillText(time(t), x(t), axisHeight / 2);
    });
    pen.textAlign = "left";
    pen.fillRect(0, axisHeight - 1, width, 0.5);
  };
  const paint = () => {
    const shift = box.scrollTop;
    pen.clearRect(0, 0, width, height);
    pen.textBaseline = "middle";
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    const lines = x.ticks(Math.max(2, Math.floor((width - gutter) / 110)));
    rows.forEach((row, i) => {
      const top = row.top - shift;
      if (top + row.height < axisHeight || top > height) return;
      if (!row.lane) {
        pen.fillStyle = colours.panel;
        pen.fillRect(0, top, width, row.height - 1);
      }
      if (i === cursor && document.activeElement === box) {
        pen.fillStyle = colours.link;
        pen.fillRect(0, top, 3, row.height - 2);
      }
      pen.fillStyle = colours.line;
      lines.forEach((t) => pen.fillRect(x(t), top, 0.5, row.height));
      if (row.lane) paintSpans(row.lane, top + 2, 0, false);
      else if (!row.group.open) {
        const strip = (headHeight - 5) / row.group.lanes.length;
        row.group.lanes.forEach((lane, at) => paintSpans(lane, top + 2 + at * strip, Math.max(1, strip), true));
      }
      pen.fillStyle = row.lane ? colours.paper : colours.panel;
      pen.fillRect(4, top, !row.lane && row.group.open ? width : gutter - 5, row.height - 1);
      pen.fillStyle = colours.ink;
      const narrow = gutter < 120,
            name = row.lane && narrow ? row.lane.name.replace(/device /g, "dev ").replace("host thread", "thread") : (row.lane || row.group).name;
      if (row.lane) paintName(name, narrow ? 12 : 22, top + 8, gutter - (narrow ? 16 : 28));
      else paintName((row.group.open ? "▾ " : "▸ ") + name, 6, top + headHeight / 2, row.group.open ? width - 12 : gutter - 12);
    });
    paintAxis();
  };

  const matches = (lane, i) => matching[lane.n[i]] || matching[lane.s[i]] || matching[lane.k[i]];
  const tell = (lane, i) => {
    const kind = texts[lane.k[i]], parts = [`${kindNames[kind] || kind}: ${texts[lane.n[i]]}`];
    if (lane.c[i] > 1) parts.push(`${lane.c[i].toLocaleString("en")} events close together`);
    if (lane.b[i] > 0) parts.push(page.exact(lane.b[i]));
    parts.push(`at ${time(lane.t[i])} for ${time(lane.d[i])}`, lane.name);
    if (texts[lane.w[i]]) parts.push(`reason: ${texts[lane.w[i]]}`);
    if (texts[lane.s[i]]) parts.push(texts[lane.s[i]]);
    element("span").textContent = parts.join(" · ");
  };
  const rowAt = (y) => rows.find((row) => y + box.scrollTop >= row.top && y + box.scrollTop < row.top + row.height);
  const spanAt = (px, y) => {
    const row = rowAt(y);
    if (!row || !row.lane || px < gutter) return null;
    const t = x.invert(px), slack = x.invert(px + 3) - t, depth = Math.floor((y + box.scrollTop - row.top - 2) / rowHeight), lane = row.lane;
    let best = null, nearest = slack;
    for (let i = 0; i < lane.t.length; ++i) {
      if (lane.r[i] !== depth) continue;
      const away = Math.max(lane.t[i] - t, t - lane.t[i] - lane.d[i], 0);
      if (away < nearest || (away === 0 && best === null)) {
        nearest = away;
        best = {lane, i};
      }
    }
    return best;
  };

  const setView = (from, to) => {
    const size = Math.min(data.end, Math.max(10, to - from)), start = Math.min(Math.max(0, from), data.end - size);
    x.domain([start, start + size]);
    draw();
  };
  const centre = () => {  // of a zoom without a pointer: what is chosen, if one sees it
    const px = chosen ? x(chosen.lane.t[chosen.i] + chosen.lane.d[chosen.i] / 2) : 0;
    return px > gutter && px < width ? px : (gutter + width) / 2;
  };
  const zoom = (factor, px = centre()) => {
    const [from, to] = x.domain(), t = Math.min(to, Math.max(from, x.invert(px)));
    setView(t - (t - from) * factor, t + (to - t) * factor);
  };
  const pan = (share) => {
    const [from, to] = x.domain();
    setView(from + (to - from) * share, to + (to - from) * share);
  };
  const fold = (groups, open) => {
    groups.forEach((group) => {
      group.open = open;
    });
    layOut();
  };
  const scrollTo = (row) => {
    if (row.top < box.scrollTop + axisHeight) box.scrollTop = row.top - axisHeight;
    else if (row.top + row.height > box.scrollTop + height) box.scrollTop = row.top + row.height - height;
  };

  const search = () => {
    const wanted = element("search").value.trim().toLowerCase();
    found = [];
    at = -1;
    matching = wanted === "" ?
        null :
        Uint8Array.from(texts, (text) => text.toLowerCase().includes(wanted) || (kindNames[text] || "").includes(wanted) ? 1 : 0);
    if (matching)
      data.groups.forEach((group) => group.lanes.forEach((lane) => {
        for (let i = 0; i < lane.t.length; ++i)
          if (matches(lane, i)) found.push({group, lane, i});
      }));
    element("found").textContent = matching ? `${found.length.toLocaleString("en")} span${found.length === 1 ? "" : "s"} found` : "";
    draw();
  };
  const step = (by) => {
    if (found.length === 0) return;
    at = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
    chosen = found[at];
    if (!chosen.group.open) fold([chosen.group], true);
    const {lane, i} = chosen, [from, to] = x.domain(), size = Math.max(Math.min(to - from, data.end / 20), 3 * lane.d[i]),
                 middle = lane.t[i] + lane.d[i] / 2;
    setView(middle - size / 2, middle + size / 2);
    cursor = rows.findIndex((row) => row.lane === lane);
    scrollTo(rows[cursor]);
    element("found").textContent = `${(at + 1).toLocaleString("en")} of ${found.length.toLocaleString("en")} found`;
    tell(lane, i);
  };

  let dragged = null;
  const inside = (event) => {
    const r = canvas.getBoundingClientRect();
    return [event.clientX - r.left, event.clientY - r.top];
  };
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && (document.activeElement !== box || event.shiftKey)) return;  // the page scrolls, or the lanes
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / width);
    else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), inside(event)[0]);
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    const [px, y] = inside(event);
    dragged = {px, domain: x.domain(), moved: false, pointer: event.pointerId};
    box.focus({preventScroll: true});
    const row = rowAt(y);
    if (row) cursor = rows.indexOf(row);
    if (row && !row.lane) fold([row.group], !row.group.open);
    else {
      chosen = spanAt(px, y);
      if (chosen) tell(chosen.lane, chosen.i);
      draw();
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, y] = inside(event);
    if (dragged && event.buttons) {
      if (Math.abs(px - dragged.px) > 3 && !dragged.moved) {
        dragged.moved = true;
        canvas.setPointerCapture(dragged.pointer);
      }
      if (!dragged.moved) return;
      const [from, to] = dragged.domain, by = (dragged.px - px) / (width - 8 - gutter) * (to - from);
      setView(from + by, to + by);
    } else {
      dragged = null;
      hovered = spanAt(px, y);
      if (hovered) tell(hovered.lane, hovered.i);
    }
  });
  canvas.addEventListener("pointerup", () => {
    dragged = null;
  });
  const keys = {
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    "0": () => setView(0, data.end),
    ArrowLeft: () => pan(-0.2),
    ArrowRight: () => pan(0.2),
    n: () => step(1),
    p: () => step(-1),
    Enter: () => fold([rows[cursor].group], !rows[cursor].group.open)
  };
  const moveCursor = (by) => {
    cursor = Math.max(0, Math.min(rows.length - 1, cursor + by));
    scrollTo(rows[cursor]);
    const {group, lane} = rows[cursor];
    element("span").textContent = lane ? `${lane.name}, ${group.name}: ${lane.t.length.toLocaleString("en")} spans` :
                                         `${group.name}: ${group.lanes.length} lanes, ${group.open ? "unfolded" : "folded"}`;
    draw();
  };
  keys.ArrowUp = () => moveCursor(-1);
  keys.ArrowDown = () => moveCursor(1);
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || rows.length === 0) return;
    event.preventDefault();
    keys[event.key]();
  });
  box.addEventListener("focus", draw);
  box.addEventListener("blur", draw);
  box.addEventListener("scroll", draw);
  element("search").addEventListener("input", search);
  element("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
  });
  const buttons = {next: () => step(1), previous: () => step(-1), in: () => zoom(0.5), out: () => zoom(2), all: () => setView(0, data.end),
    fold: () => fold(data.groups, false), unfold: () => fold(data.groups, true)};
  for (const [name, act] of Object.entries(buttons)) element(name).addEventListener("click", act);

  const used = new Set();
  data.groups.forEach((group) => group.lanes.forEach((lane) => lane.k.forEach((k) => used.add(texts[k]))));
  for (const [kind, name] of Object.entries(kindNames)) {
    if (!used.has(kind)) continue;
    const entry = document.createElement("span"), mark = document.createElement("i");
    mark.style.background = `var(--${kind})`;
    entry.append(mark, name);
    element("legend").append(entry);
  }
  readColours();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    draw();
  });
  window.addEventListener("resize", layOut);
  layOut();
  return {view: () => x.domain(), spans: () => data.groups.reduce((n, g) => n + g.lanes.reduce((m, l) => m + l.t.length, 0), 0)};
})();
