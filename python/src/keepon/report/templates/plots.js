// SPDX-License-Identifier: BSD-3-Clause
// Zoom, values under the pointer and tables of the plots; the page is whole without it. A plot's
// data are its paths, whose numbers are places on its axes (axes.py); zooming moves the view box.
"use strict";
(() => {
  const TICKS = 6, NEAR_PX = 40, LEAST_DRAG_PX = 6, DEEPEST = 1e-6, PER_STEP = 0.6;
  const one = (root, query) => root.querySelector(query);
  const all = (root, query) => [...root.querySelectorAll(query)];
  const made = (name, text, attributes) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    return element;
  };

  // Round values from low to high, as places with texts.
  const ticks = (low, high, log, scale) => {
    const span = high - low, found = [];
    if (log && span >= 1) {
      const every = Math.max(1, Math.round(span / TICKS));
      for (let power = Math.floor(low); power <= Math.ceil(high); power += every)
        for (const times of span < 2 ? [1, 2, 5] : [1]) {
          const place = power + Math.log10(times);
          if (place >= low && place <= high)
            found.push([place, String(Number((times * 10 ** power * scale).toPrecision(10)))]);
        }
      return found;
    }
    const first = (log ? 10 ** low : low) * scale, last = (log ? 10 ** high : high) * scale;
    const least = (last - first) / TICKS, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= least * (1 - 1e-9));
    const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    for (let n = Math.ceil(first / step - 1e-9); n <= Math.floor(last / step + 1e-9); n++) {
      const value = (n * step) / scale;
      found.push([log ? Math.log10(value) : value, (n * step).toFixed(digits)]);
    }
    return found;
  };
  const shown = (place, log, scale) => Number(((log ? 10 ** place : place) * scale).toPrecision(7)).toString();

  const writeTicks = (box, side, low, high, log, scale) => {
    if (!box) return [];
    const found = ticks(low, high, log, scale);
    box.replaceChildren(...found.map(([place, text]) => {
      const share = (place - low) / (high - low), span = made("span", text);
      span.style[side === "x" ? "left" : "bottom"] = `${share * 100}%`;
      if (side === "x" && share > 0.97) span.className = "end";
      if (side === "x" && share < 0.02) span.className = "start";
      return span;
    }));
    return found;
  };

  // Points [x, low, high] of a path as panels.py makes them.
  const pointsOf = (path) => {
    const found = [];
    let x = 0, y = 0;
    for (const [, command, numbers] of path.getAttribute("d").matchAll(/([MHV])([^MHV]*)/g)) {
      const values = numbers.trim().split(/[ ,]+/).map(Number);
      if (command === "M") [x, y] = values;
      else if (command === "H") x = values[0];
      else if (path.classList.contains("steps")) found.push([x, (y = values[0]), y]);
      else found.push([x, y, values[0]]);
    }
    return found;
  };

  const tip = made("div", "", { class: "tip", role: "status" });
  tip.hidden = true;
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4))}px`;
    const below = event.clientY + 16;
    tip.style.top = `${below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below}px`;
  };

  // What both kinds of plots share: a view that buttons, keys and the pointer move.
  const zoomable = (figure, surfaces, whole, first, flat, redraw) => {
    let view = [...first];
    const set = (x, y, width, height) => {
      width = Math.min(whole[2], Math.max(width, whole[2] * DEEPEST));
      height = flat ? whole[3] : Math.min(whole[3], Math.max(height, whole[3] * DEEPEST));
      x = Math.min(Math.max(x, whole[0]), whole[0] + whole[2] - width);
      y = Math.min(Math.max(y, whole[1]), whole[1] + whole[3] - height);
      view = [x, y, width, height];
      redraw(view);
    };
    const about = (times) => {
      const [x, y, width, height] = view;
      set(x + (width * (1 - times)) / 2, y + (height * (1 - times)) / 2, width * times, height * times);
    };
    const does = {
      in: () => about(PER_STEP), out: () => about(1 / PER_STEP), all: () => set(...whole),
      left: () => set(view[0] - view[2] / 4, view[1], view[2], view[3]),
      right: () => set(view[0] + view[2] / 4, view[1], view[2], view[3]),
    };
    for (const button of all(figure, ".tools button"))
      if (does[button.dataset.do]) button.addEventListener("click", does[button.dataset.do]);
    surfaces.forEach((surface) => draggable(surface, flat, () => view, set, does.all));
    return () => view;
  };

  // A stretch that the mouse draws becomes the view; touch is left to the page, which it scrolls.
  const draggable = (surface, flat, view, set, reset) => {
    let from = null, box = null;
    const chosen = (event) => {
      const frame = surface.getBoundingClientRect();
      const clip = (value, low, high) => Math.min(Math.max(value, low), high);
      const xs = [from[0], clip(event.clientX, frame.left, frame.right)].sort((a, b) => a - b);
      let ys = [from[1], clip(event.clientY, frame.top, frame.bottom)].sort((a, b) => a - b);
      if (flat || ys[1] - ys[0] < 3 * LEAST_DRAG_PX) ys = [frame.top, frame.bottom];
      return { frame, xs, ys };
    };
    surface.addEventListener("dblclick", reset);
    surface.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      from = [event.clientX, event.clientY];
      box = made("div", "", { class: "chosen" });
      surface.append(box);
      surface.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    surface.addEventListener("pointermove", (event) => {
      if (!from) return;
      const { frame, xs, ys } = chosen(event);
      Object.assign(box.style, {
        left: `${xs[0] - frame.left}px`, width: `${xs[1] - xs[0]}px`,
        top: `${ys[0] - frame.top}px`, height: `${ys[1] - ys[0]}px`,
      });
    });
    const stop = (event) => {
      if (!from) return;
      const { frame, xs, ys } = chosen(event), [x, y, width, height] = view();
      box.remove();
      from = null;
      if (event.type === "pointercancel" || xs[1] - xs[0] < LEAST_DRAG_PX) return;
      set(
        x + ((xs[0] - frame.left) / frame.width) * width, y + ((ys[0] - frame.top) / frame.height) * height,
        ((xs[1] - xs[0]) / frame.width) * width, ((ys[1] - ys[0]) / frame.height) * height,
      );
    };
    surface.addEventListener("pointerup", stop);
    surface.addEventListener("pointercancel", stop);
  };

  const panel = (figure) => {
    const area = one(figure, ".area"), svg = one(area, "svg"), rules = one(svg, ".rules");
    const whole = svg.getAttribute("viewBox").split(" ").map(Number);
    const { xlog, ylog, xscale, yscale, xlabel, ylabel } = figure.dataset;
    const logs = [Number(xlog), Number(ylog)], scales = [Number(xscale), Number(yscale)];
    const redraw = ([x, y, width, height]) => {
      svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
      const low = -y - height;
      const xs = writeTicks(one(figure, ".ticks.x"), "x", x, x + width, logs[0], scales[0]);
      const ys = writeTicks(one(figure, ".ticks.y"), "y", low, -y, logs[1], scales[1]);
      rules.setAttribute("d", xs.map(([at]) => `M${at} ${low}V${-y}`).concat(
        ys.map(([at]) => `M${x} ${at}H${x + width}`)).join(""));
    };
    const view = zoomable(figure, [area], whole, whole, false, redraw);
    // Painted are the last first, so that the first lies on top.
    const curves = all(svg, ".curve").map((path) => ({ path, name: path.dataset.name, points: null })).reverse();
    const points = (curve) => (curve.points = curve.points || pointsOf(curve.path));
    all(figure, ".legend li").forEach((entry, number) => {
      const button = made("button", undefined, { type: "button", "aria-pressed": "true", title: "show or hide" });
      button.append(...entry.childNodes);
      entry.append(button);
      button.addEventListener("click", () => {
        const hidden = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!hidden));
        curves[number].path.style.display = hidden ? "none" : "";
      });
    });
    const range = (low, high) => {
      const texts = [low, high].map((place) => shown(place, logs[1], scales[1]));
      return texts[0] === texts[1] ? texts[0] : texts.join(" to ");
    };
    area.addEventListener("pointermove", (event) => {
      const frame = area.getBoundingClientRect(), [x, y, width, height] = view();
      let best = null;
      for (const curve of curves) {
        if (curve.path.style.display === "none" || curve.path.classList.contains("feet")) continue;
        const limit = curve.path.classList.contains("limit");
        for (const [at, low, high] of points(curve)) {
          const dx = limit && curve.path.getAttribute("d").includes("H") ? 0
            : ((at - x) / width) * frame.width + frame.left - event.clientX;
          const [top, foot] = [Math.max(low, high), Math.min(low, high)].map(
            (place) => ((-place - y) / height) * frame.height + frame.top);
          const dy = event.clientY < top ? top - event.clientY : Math.max(0, event.clientY - foot);
          const far = Math.hypot(dx, dy);
          if (far < NEAR_PX && (!best || far < best.far)) best = { far, curve, at, low, high, limit };
        }
      }
      if (!best) { tip.hidden = true; return; }
      const across = best.limit && best.curve.path.getAttribute("d").includes("H");
      showTip(event, best.limit
        ? `${best.curve.name}: ${across ? range(best.low, best.low) : shown(best.at, logs[0], scales[0])}\n${across ? ylabel : xlabel}`
        : `${best.curve.name}\n${xlabel}: ${shown(best.at, logs[0], scales[0])}\n${ylabel}: ${range(best.low, best.high)}`);
    });
    area.addEventListener("pointerleave", () => { tip.hidden = true; });
    const button = one(figure, "[data-do=table]"), values = one(figure, ".values");
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      values.replaceChildren();
      if (!open) return;
      const table = made("table"), head = made("tr"), body = made("tbody");
      for (const title of ["curve", xlabel, `least ${ylabel}`, `greatest ${ylabel}`])
        head.append(made("th", title, { scope: "col" }));
      for (const curve of curves) {
        if (curve.path.classList.contains("feet")) continue;
        const across = curve.path.classList.contains("limit");
        for (const [at, low, high] of across ? limitOf(curve) : points(curve)) {
          const row = made("tr");
          row.append(made("th", curve.name, { scope: "row" }));
          row.append(made("td", at === null ? "all" : shown(at, logs[0], scales[0])));
          row.append(...[low, high].map((place) => made("td", place === null ? "all" : shown(place, logs[1], scales[1]))));
          body.append(row);
        }
      }
      table.append(made("thead"), body);
      table.tHead.append(head);
      values.append(table);
      values.tabIndex = 0;
    });
    const limitOf = (curve) => {
      const [, x, y, way] = curve.path.getAttribute("d").match(/M(\S+) ([^HV]+)([HV])/);
      return way === "H" ? [[null, Number(y), Number(y)]] : [[Number(x), null, null]];
    };
  };

  const gantt = (figure) => {
    const span = Number(figure.dataset.span), scale = Number(figure.dataset.xscale);
    const tracks = all(figure, ".track"), box = one(figure, ".ticks.x");
    const names = tracks.flatMap((track) => all(track, "b"));
    // A name that its bar has no room for would be read as a shorter one.
    const fit = () => {
      for (const name of names) name.hidden = false;
      const cut = names.map((name) => name.scrollWidth > name.clientWidth);
      names.forEach((name, number) => { name.hidden = cut[number]; });
    };
    const redraw = ([x, , width]) => {
      for (const track of tracks) {
        one(track, "svg").setAttribute("viewBox", `${x} 0 ${width} 10`);
        for (const name of all(track, "b")) {
          const { start, end } = name.dataset;
          const from = Math.max(start, x), to = Math.min(end, x + width);
          name.style.left = `${((from - x) / width) * 100}%`;
          name.style.width = `${(Math.max(to - from, 0) / width) * 100}%`;
        }
      }
      fit();
      writeTicks(box, "x", x, x + width, 0, scale);
    };
    for (const track of tracks) {
      track.classList.add("tracks");
      track.addEventListener("pointermove", (event) => {
        const title = event.target.matches("rect") && one(event.target, "title");
        if (title) {
          // The browser would show its own beside ours.
          event.target.dataset.tip = title.textContent;
          title.remove();
        }
        if (event.target.dataset.tip) showTip(event, event.target.dataset.tip);
        else tip.hidden = true;
      });
      track.addEventListener("pointerleave", () => { tip.hidden = true; });
    }
    const first = one(tracks[0] || figure, "svg");
    if (!first) return;
    const view = first.getAttribute("viewBox").split(" ").map(Number);
    zoomable(figure, tracks, [0, 0, span, 10], view, true, redraw);
    fit();
    addEventListener("resize", fit);
  };

  // A plot that is folded away is unfolded where a link leads to it.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details");
    if (folded && !folded.open) { folded.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  unfold();

  document.documentElement.classList.add("js");
  document.body.append(tip);
  all(document, "figure.panel").forEach(panel);
  all(document, "figure.gantt").forEach(gantt);
})();
