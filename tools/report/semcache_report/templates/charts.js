// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SPDX-FileCopyrightText: The SemCache contributors
//
// The page's data, what is common to its charts, and the charts of bytes: by array, over time, by process.
"use strict";
const page = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const directions = [["h2d", "to devices"], ["d2h", "to the host"], ["between_devices", "between devices"]];
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

  const humanBytes = (value) => {
    let unit = 0, scaled = value;
    while (scaled >= 1024 && unit + 1 < units.length) {
      scaled /= 1024;
      ++unit;
    }
    return (unit === 0 ? scaled.toLocaleString("en") : scaled < 10 ? scaled.toFixed(2) : scaled.toFixed(1)) + " " + units[unit];
  };
  const humanTime = (us) => {
    const [size, unit] = Math.abs(us) >= 1e6 ? [1e6, "s"] : Math.abs(us) >= 1e3 ? [1e3, "ms"] : [1, "µs"];
    return parseFloat((us / size).toPrecision(4)).toLocaleString("en", {maximumFractionDigits: 3}) + " " + unit;
  };
  const exact = (bytes) => humanBytes(bytes) + (bytes >= 1024 ? " (" + bytes.toLocaleString("en") + " bytes)" : "");
  const shortened = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
  const one_line = (text) => text.replace(/\s+/g, " ");

  // Round figures of bytes for an axis, all in the unit of the largest one.
  const byteAxis = (most, wanted) => {
    const power = most > 0 ? Math.min(units.length - 1, Math.floor(Math.log(most) / Math.log(1024))) : 0, unit = Math.pow(1024, power);
    return d3.svg.axis()
        .outerTickSize(0)
        .tickValues(most > 0 ? d3.scale.linear().domain([0, most / unit]).ticks(wanted).map((t) => t * unit) : [0])
        .tickFormat((bytes) => bytes === 0 ? "0" : parseFloat((bytes / unit).toFixed(3)).toLocaleString("en") + " " + units[power]);
  };
  const total = (row, parts) => parts.reduce((all, [key]) => all + row[key], 0);
  const sum = (row) => total(row, directions);
  const drawing = (id, height) => {
    const box = document.getElementById(id), width = box.clientWidth;
    box.textContent = "";
    const svg = d3.select(box).append("svg").attr({width, height, viewBox: `0 0 ${width} ${height}`});
    return {svg, width};
  };

  // A bar for each name, below each other. `parts` are pairs of a key in the rows, which is the colour's name, and a text.
  const nameChart = (id, rows, parts) => {
    const sum = (row) => total(row, parts), narrow = window.innerWidth < 640, step = narrow ? 38 : 26, bottom = 24;
    const {svg, width} = drawing(id, rows.length * step + bottom);
    const left = narrow ? 0 : Math.min(260, 16 + 7.5 * d3.max(rows, (r) => Math.min(32, r.name.length)));
    const end = 84, most = d3.max(rows, sum), x = d3.scale.linear().domain([0, most]).range([left, width - end]);
    const axis = byteAxis(most, narrow ? 3 : 6).scale(x).innerTickSize(-rows.length * step);
    svg.append("g").attr({class: "axis", transform: `translate(0,${rows.length * step})`}).call(axis);
    const row = svg.selectAll("g.row").data(rows).enter().append("g").attr({class: "row", transform: (r, i) => `translate(0,${i * step})`});
    row.append("text")
        .attr(narrow ? {x: 0, y: 13} : {x: left - 8, y: 17, "text-anchor": "end"})
        .text((r) => shortened(one_line(r.name), narrow ? 40 : 32))
        .append("title")
        .text((r) => r.name);
    parts.forEach(([key, name], i) => {
      const before = (r) => parts.slice(0, i).reduce((all, [k]) => all + r[k], 0);
      row.append("rect")
          .attr({class: key, x: (r) => x(before(r)), y: narrow ? 18 : 4, height: narrow ? 15 : step - 8, width: (r) => x(r[key]) - x(0)})
          .append("title")
          .text((r) => `${r.name}, ${name}: ${exact(r[key])}`);
    });
    row.append("text").attr({x: (r) => x(sum(r)) + 6, y: narrow ? 30 : 17}).text((r) => humanBytes(sum(r)));
  };

  // Bars beside each other. `title` says what a bar is, `axis` what is below the first, the middle and the last one.
  const barChart = (id, rows, title, axis) => {
    const height = 200, top = 8, bottom = 24, {svg, width} = drawing(id, height), most = d3.max(rows, sum) || 0;
    const left = 66, y = d3.scale.linear().domain([0, most || 1]).range([height - bottom, top]), step = (width - left) / rows.length;
    const thick = Math.max(0.5, step > 3 ? Math.min(64, step - 1) : step);
    svg.append("g")
        .attr({class: "axis", transform: `translate(${left},0)`})
        .call(byteAxis(most, 4).scale(y).orient("left").innerTickSize(-(width - left)));
    const row = svg.selectAll("g.row").data(rows).enter().append("g").attr({class: "row", transform: (r, i) => `translate(${left + i * step},0)`});
    directions.forEach(([key, name], i) => {
      const through = (r) => directions.slice(0, i + 1).reduce((all, [k]) => all + r[k], 0);
      row.filter((r) => r[key] > 0)
          .append("rect")
          .attr({class: key, x: (step - thick) / 2, width: thick, y: (r) => y(through(r)), height: (r) => Math.max(0.5, y(0) - y(r[key]))})
          .append("title")
          .text((r) => `${title(r)}, ${name}: ${exact(r[key])}`);
    });
    axis.forEach(
        ([place, text, anchor]) => svg.append("text").attr({x: left + place * (width - left), y: height - 6, "text-anchor": anchor}).text(text));
  };
  const timeChart = () => {
    const t = data.time, bars = d3.max(d3.values(t.series), (s) => s.length), rows = [];
    for (let i = 0; i < bars; ++i) {
      const row = {i};
      directions.forEach(([key]) => {
        row[key] = (t.series[key] || [])[i] || 0;
      });
      rows.push(row);
    }
    if (t.kind === "iterations") {
      const first = (r) => r.i * t.together + 1, last = (r) => Math.min(t.count, (r.i + 1) * t.together);
      barChart(
          "time-chart", rows, (r) => first(r) === last(r) ? `iteration ${first(r)}` : `iterations ${first(r)} to ${last(r)}`,
          [[0, "iteration 1", "start"], [1, `iteration ${t.count.toLocaleString("en")}`, "end"]]);
    } else {
      const at = (i) => humanTime(i * t.end_us / bars);
      barChart("time-chart", rows, (r) => `${at(r.i)} to ${at(r.i + 1)}`, [[0, "0", "start"], [0.5, at(bars / 2), "middle"], [1, at(bars), "end"]]);
    }
  };
  const rankChart = () => {
    const rows = data.ranks;
    const few = rows.length <= (window.innerWidth < 640 ? 5 : 16);
    barChart(
        "rank-chart", rows, (r) => r.name,
        few ? rows.map((r, i) => [(i + 0.5) / rows.length, r.name, "middle"]) : [[0, rows[0].name, "start"], [1, rows[rows.length - 1].name, "end"]]);
  };
  const draw = () => {
    if (document.getElementById("label-chart")) nameChart("label-chart", data.labels, directions);
    if (document.getElementById("advisor-chart")) {
      nameChart("advisor-chart", data.advisor, [["certain", "certainly redundant"], ["possible", "possibly redundant"], ["needed", "all other copies"]]);
    }
    if (document.getElementById("time-chart")) timeChart();
    if (document.getElementById("rank-chart")) rankChart();
  };
  draw();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (width !== window.innerWidth) {
      width = window.innerWidth;
      draw();
    }
  });
  return {data, humanTime, exact, shortened, one_line};
})();
