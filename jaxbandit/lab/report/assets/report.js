// Draws the charts of a report with uPlot from the data block "charts". Tables and figures do not depend on this script.
"use strict";

(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const HEIGHT = 340, ALPHA = 0.2;

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shown = (value) => {
    if (value == null) return "–";
    const size = Math.abs(value);
    if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2);
    return value.toLocaleString("en", { maximumSignificantDigits: size >= 1000 ? Math.ceil(Math.log10(size + 1)) : 4 });
  };
  const color = (curve) => (curve.color === "bound" ? variable("--ink") : curve.color);
  const translucent = (curve) => {
    const code = parseInt(color(curve).slice(1), 16);
    return `rgba(${code >> 16}, ${(code >> 8) & 255}, ${code & 255}, ${ALPHA})`;
  };

  // Returns the table that uPlot draws: x, then for each curve its values and, if there are any, the ends of its intervals.
  function columns(chart, logY) {
    const positive = chart.curves.flatMap((c) => [...c.y, ...(c.high ?? [])].filter((y) => y > 0));
    const floor = positive.length ? Math.min(...positive) / 2 : 1;
    const fit = (values, end) =>
      logY ? values.map((v) => (v == null ? null : v > 0 ? v : end ? floor : null)) : values;
    const tables = chart.curves.map((c) =>
      c.low ? [c.x, fit(c.y), fit(c.low, true), fit(c.high)] : [c.x, fit(c.y)]);
    return tables.length > 1 ? uPlot.join(tables.map(distinct)) : distinct(tables[0]);
  }

  // uPlot needs increasing x, so the lower point of a vertical step is moved a little to the left.
  function distinct(table) {
    const x = table[0].slice();
    for (let i = x.length - 2; i >= 0; i--) if (x[i] >= x[i + 1]) x[i] = x[i + 1] - Math.abs(x[i + 1]) * 1e-9 - 1e-12;
    return [x, ...table.slice(1)];
  }

  // Returns the index of the value that a curve has at the cursor: for steps the last one before it, otherwise the nearest.
  function nearest(chart, data, seriesIdx, hovered, x) {
    const values = data[seriesIdx], xs = data[0];
    if (chart.shape !== "step" && values[hovered] != null) return hovered;
    let left = xs[hovered] > x ? hovered - 1 : hovered, right = left + 1;
    while (left >= 0 && values[left] == null) left--;
    if (chart.shape === "step") return left >= 0 ? left : null;
    while (right < xs.length && values[right] == null) right++;
    if (left < 0) return right < xs.length ? right : null;
    return right >= xs.length || x - xs[left] <= xs[right] - x ? left : right;
  }

  function whiskers(u, chart, places) {
    const { ctx } = u, ratio = devicePixelRatio || 1;
    chart.curves.forEach((curve, i) => {
      if (!curve.low || !u.series[places[i]].show) return;
      ctx.save();
      ctx.strokeStyle = color(curve);
      ctx.lineWidth = 1.6 * ratio;
      ctx.setLineDash([]);
      ctx.beginPath();
      curve.x.forEach((x, k) => {
        if (curve.low[k] == null || curve.high[k] == null) return;
        const at = u.valToPos(x, "x", true), { min, max } = u.scales.y;
        const clamp = (v) => Math.min(Math.max(v, min), max);
        ctx.moveTo(at, u.valToPos(clamp(curve.low[k]), "y", true));
        ctx.lineTo(at, u.valToPos(clamp(curve.high[k]), "y", true));
      });
      ctx.stroke();
      ctx.restore();
    });
  }

  function build(place, chart) {
    const state = { logX: !!chart.logX, logY: !!chart.logY, off: new Set() };
    const marks = chart.shape === "marks", step = chart.shape === "step";
    const canvas = element("div", { class: "canvas" });
    const output = element("output", {});
    const tools = element("div", { class: "tools" });
    const legend = element("ul", { class: "legend" });
    const places = [], values = [], buttons = [];
    let at = 1;
    for (const curve of chart.curves) {
      places.push(at);
      at += curve.low ? 3 : 1;
    }
    let plot = null;

    const toggle = (name, axis) => {
      const box = element("input", { type: "checkbox" });
      box.checked = state[axis];
      box.addEventListener("change", () => { state[axis] = box.checked; draw(); });
      tools.append(element("label", {}, box, name));
    };
    if (chart.logX != null && chart.curves.every((c) => c.x.every((x) => x > 0))) toggle("logarithmic x", "logX");
    if (chart.logY != null && chart.curves.some((c) => c.y.some((y) => y > 0))) toggle("logarithmic y", "logY");
    tools.append(output);

    chart.curves.forEach((curve, i) => {
      const line = element("i", {});
      line.style.borderTopStyle = curve.dash.length ? "dashed" : "solid";
      const value = element("span", {});
      const button = element("button", { type: "button", "aria-pressed": "true" }, line, curve.label, value);
      button.addEventListener("click", () => {
        const off = !state.off.has(i);
        state.off[off ? "add" : "delete"](i);
        button.setAttribute("aria-pressed", String(!off));
        const last = places[i] + (curve.low ? 3 : 1);
        plot.batch(() => { for (let s = places[i]; s < last; s++) plot.setSeries(s, { show: !off }); });
      });
      legend.append(element("li", {}, button));
      values.push(value);
      buttons.push(line);
    });

    function tell(u) {
      const { left, idx } = u.cursor;
      const inside = left != null && left >= 0 && idx != null;
      const x = inside ? u.posToVal(left, "x") : null;
      const name = inside && chart.names.length ? chart.names[Math.round(x)] : null;
      const discrete = inside && !step && !marks ? u.data[0][idx] : x;
      output.textContent = !inside ? "" : `${chart.x} ${name ?? shown(step ? x : discrete)}`;
      chart.curves.forEach((curve, i) => {
        const k = inside ? nearest(chart, u.data, places[i], idx, x) : null;
        const text = k == null ? "" : shown(u.data[places[i]][k]);
        const ends = k == null || !curve.low ? [] : [u.data[places[i] + 1][k], u.data[places[i] + 2][k]];
        values[i].textContent = ends.length && ends[0] != null ? `${text} [${shown(ends[0])}, ${shown(ends[1])}]` : text;
      });
    }

    function axis(scale, label) {
      const names = scale === "x" ? chart.names : [];
      const plain = (u, splits) => splits.map((v) =>
        v == null ? null : names.length ? (Number.isInteger(v) ? short(names[v] ?? "") : null) : ticks(v));
      const log = scale === "x" ? state.logX : state.logY;
      return {
        scale, label, stroke: () => variable("--ink"), values: plain,
        labelSize: 22, labelGap: 0, ...(scale === "x" ? { size: 34 } : { size: 62 }),
        grid: { stroke: () => variable("--line"), width: 1, filter: (u, splits) => splits },
        ticks: { stroke: () => variable("--line"), width: 1, filter: (u, splits) => splits },
        ...(names.length ? { incrs: [1, 2, 5, 10, 20, 50, 100] } : {}),
        ...(log ? { splits: decades, filter: (u, splits) => splits } : {}),
      };
    }
    const short = (name) => (name.length > 12 ? `${name.slice(0, 11)}\u2026` : name);
    const ticks = (v) => (Math.abs(v) >= 1e6 ? v.toExponential(0).replace("e+", "e") : v.toLocaleString("en", { maximumSignificantDigits: 6 }));
    // Ticks of a logarithmic axis: powers of ten and, over less than two decades, their multiples by 2 and 5.
    const decades = (u, axisIdx, min, max) => {
      const steps = max / min > 100 ? [1] : [1, 2, 5], splits = [];
      const every = Math.max(1, Math.ceil(Math.log10(max / min) / 8));
      for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power += every)
        for (const step of steps) {
          const v = Number((step * 10 ** power).toPrecision(1));
          if (v >= min && v <= max) splits.push(v);
        }
      return splits.length > 1 ? splits : [min, max].map((v) => Number(v.toPrecision(2))).filter((v) => v >= min && v <= max);
    };

    function draw() {
      if (plot) plot.destroy();
      const data = columns(chart, state.logY);
      const series = [{}], bands = [];
      chart.curves.forEach((curve, i) => {
        const shape = {
          spanGaps: true, show: !state.off.has(i),
          ...(step ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
          ...(marks && chart.names.length && curve.color !== "bound" ? { paths: () => null } : {}),
        };
        series.push({
          ...shape, label: curve.label, stroke: () => color(curve), width: 2, dash: curve.dash,
          points: { show: curve.x.length === 1 || (marks && curve.color !== "bound"), size: 7, fill: () => color(curve) },
        });
        if (!curve.low) return;
        const end = { ...shape, stroke: "transparent", width: 0, points: { show: false } };
        series.push({ ...end, label: "" }, { ...end, label: "" });
        if (!marks) bands.push({ series: [places[i] + 2, places[i] + 1], fill: () => translucent(curve) });
        buttons[i].style.color = color(curve);
      });
      chart.curves.forEach((curve, i) => { buttons[i].style.color = color(curve); });
      const range = (log, low) => (u, min, max) => {
        if (min == null) return [log ? 1 : 0, log ? 10 : 1];
        if (log) return [min / 1.15, max * 1.15];
        const pad = (max - min || Math.abs(max) || 1) * 0.05;
        return [low && min >= 0 && min < max / 2 ? 0 : min - pad, max + pad];
      };
      const xs = data[0], last = chart.names.length - 0.5;
      const shownX = state.logX && chart.shape === "line" && xs[xs.length - 1] >= 100 * xs[0]
        ? [xs.find((x) => x >= 10) ?? xs[0], xs[xs.length - 1]] : null; // the first rounds are mostly noise
      plot = new uPlot({
        width: canvas.clientWidth, height: HEIGHT, legend: { show: false },
        scales: {
          x: { time: false, distr: state.logX ? 3 : 1,
            range: chart.names.length ? [-0.5, last] : shownX ?? (marks || state.logX ? range(state.logX) : undefined) },
          y: { distr: state.logY ? 3 : 1, range: range(state.logY, true) },
        },
        series, bands, axes: [axis("x", chart.x), axis("y", chart.y)],
        cursor: {
          y: false, drag: { x: true, y: false },
          dataIdx: (u, s, hovered, x) => (s === 0 ? hovered : nearest(chart, u.data, s, hovered, x) ?? hovered),
          points: { show: (u, s) => places.includes(s) && undefined },
        },
        hooks: { setCursor: [tell], draw: marks ? [(u) => whiskers(u, chart, places)] : [] },
      }, data, canvas);
    }

    place.append(tools, canvas, legend);
    place.hidden = false;
    draw();
    new ResizeObserver(() => {
      if (canvas.clientWidth && canvas.clientWidth !== plot.width) plot.setSize({ width: canvas.clientWidth, height: HEIGHT });
    }).observe(canvas);
    dark.addEventListener("change", draw);
  }

  // Figures for printing are folded on the screen and unfolded before printing.
  const folded = () => document.querySelectorAll("details");
  document.querySelectorAll("details.print").forEach((each) => { each.open = false; });
  let before = [];
  addEventListener("beforeprint", () => {
    before = [...folded()].filter((each) => !each.open && each.classList.contains("print"));
    before.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => before.forEach((each) => { each.open = false; }));

  document.querySelectorAll("[data-chart]").forEach((place) => build(place, charts[Number(place.dataset.chart)]));
})();
