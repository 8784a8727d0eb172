// Script of the page of orrery report: tables that sort, filter and turn pages; figures over time that zoom.
"use strict";

const PAGE = 100;

// The sort key of a number cell is its first number; cells without one are last.
function keyOf(text) {
	const v = parseFloat(text);
	return Number.isNaN(v) ? null : v;
}

function element(name, text, label) {
	const e = document.createElement(name);
	if (text !== undefined)
		e.textContent = text;
	if (label)
		e.setAttribute("aria-label", label);
	if (name === "button")
		e.type = "button";
	return e;
}

function setUpTable(box) {
	const table = box.querySelector("table"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
	const lines = box.querySelector("pre.rows"), caption = table.caption.textContent;
	const isNumber = heads.map(h => h.classList.contains("number")), classes = heads.map(h => h.className);
	const rows = lines ? lines.textContent.split("\n").map(l => l.split("\t")) : [...body.rows].map(r => [...r.cells].map(c => c.textContent));
	let shown = rows, from = 0, size = PAGE, column = -1, sign = 1;
	if (lines)
		lines.remove();

	const tools = element("div"), filter = element("input", undefined, "Filter: " + caption);
	const back = element("button", "\u2039", "Previous rows: " + caption), next = element("button", "\u203a", "Next rows: " + caption);
	const count = element("span");
	tools.className = "tools";
	filter.type = "search";
	filter.placeholder = "Filter rows";
	count.setAttribute("role", "status");
	tools.append(filter, count);
	if (rows.length > PAGE)
		tools.append(back, next);
	box.prepend(tools);

	function draw() {
		const part = shown.slice(from, from + size);
		body.replaceChildren(...part.map(cells => {
			const tr = document.createElement("tr");
			cells.forEach((text, k) => {
				const td = document.createElement("td");
				td.textContent = text;
				td.className = classes[k];
				if (heads[k].textContent === "bounds" && text.endsWith("] no"))
					td.classList.add("miss");
				if (text.length > 40)
					td.title = text;
				tr.append(td);
			});
			return tr;
		}));
		const all = shown.length === rows.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
		count.textContent = shown.length > size ? `${from + 1} to ${from + part.length} of ${all}` : all;
		back.disabled = from === 0;
		next.disabled = from + size >= shown.length;
	}

	function choose() {
		const words = filter.value.toLowerCase().split(/\s+/).filter(w => w);
		shown = words.length ? rows.filter(r => {
			const text = r.join("\t").toLowerCase();
			return words.every(w => text.includes(w));
		}) : rows.slice();
		if (column >= 0) {
			const by = shown.map((r, i) => [isNumber[column] ? keyOf(r[column]) : r[column], i, r]);
			by.sort((a, b) => {
				if (a[0] === null || b[0] === null)
					return (a[0] === null) - (b[0] === null) || a[1] - b[1];
				const order = isNumber[column] ? a[0] - b[0] : a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
				return sign * order || a[1] - b[1];
			});
			shown = by.map(x => x[2]);
		}
		from = 0;
		draw();
	}

	heads.forEach((h, k) => h.querySelector("button").addEventListener("click", () => {
		sign = column === k ? -sign : 1;
		column = k;
		heads.forEach((other, i) => other.setAttribute("aria-sort", i !== k ? "none" : sign > 0 ? "ascending" : "descending"));
		choose();
	}));
	filter.addEventListener("input", choose);
	back.addEventListener("click", () => { from = Math.max(0, from - PAGE); draw(); });
	next.addEventListener("click", () => { from += PAGE; draw(); });
	// Paper has no pages to turn: the first 1,000 rows are printed.
	addEventListener("beforeprint", () => { size = Math.max(PAGE, 1000); draw(); });
	addEventListener("afterprint", () => { size = PAGE; draw(); });
	draw();
}

// Distance of tics: 1, 2 or 5 times a power of ten.
function step(span, n) {
	const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
	return [1, 2, 5, 10].find(m => m * power >= raw) * power;
}

// A figure over time: the nested svg "view" shows a part of its width, and the tics of x are drawn again.
function setUpZoom(figure) {
	const view = figure.querySelector("svg.view"), tics = figure.querySelector("g.tics-x");
	const x0 = +view.dataset.from, x1 = +view.dataset.to;
	const left = +view.getAttribute("x"), width = +view.getAttribute("width"), height = +view.getAttribute("height");
	let from = x0, to = x1;

	function draw() {
		const scale = width / (x1 - x0);
		view.setAttribute("viewBox", `${(from - x0) * scale} 0 ${(to - from) * scale} ${height}`);
		const d = step(to - from, 8), list = [];
		for (let i = Math.ceil(from / d - 1e-9); i * d <= to + d * 1e-9; i++) {
			const t = document.createElementNS("http://www.w3.org/2000/svg", "text");
			t.setAttribute("x", left + (i * d - from) / (to - from) * width);
			t.setAttribute("y", tics.dataset.y);
			t.setAttribute("text-anchor", "middle");
			t.textContent = String(+(i * d).toPrecision(10));
			list.push(t);
		}
		tics.replaceChildren(...list);
	}

	function move(a, b) {
		const span = Math.min(b - a, x1 - x0);
		from = Math.min(Math.max(a, x0), x1 - span);
		to = from + span;
		draw();
	}

	const name = figure.querySelector("figcaption").textContent, tools = element("div");
	tools.className = "tools";
	const zoom = (factor, at) => {
		const middle = at === undefined ? (from + to) / 2 : at;
		move(middle - (middle - from) * factor, middle + (to - middle) * factor);
	};
	for (const [text, label, act] of [
		["+", "Zoom in", () => zoom(0.5)], ["\u2212", "Zoom out", () => zoom(2)],
		["\u2039", "Earlier", () => move(from - (to - from) / 4, to - (to - from) / 4)],
		["\u203a", "Later", () => move(from + (to - from) / 4, to + (to - from) / 4)], ["All", "Whole time", () => move(x0, x1)]]) {
		const b = element("button", text, `${label}: ${name}`);
		b.title = label;
		b.addEventListener("click", act);
		tools.append(b);
	}
	figure.querySelector("figcaption").after(tools);

	const place = e => {
		const r = view.ownerSVGElement.getBoundingClientRect(), full = view.ownerSVGElement.viewBox.baseVal.width;
		return from + ((e.clientX - r.left) / r.width * full - left) / width * (to - from);
	};
	let grip = null;
	view.addEventListener("wheel", e => {
		if (!e.ctrlKey && !e.shiftKey)
			return;
		e.preventDefault();
		zoom(e.deltaY > 0 || e.deltaX > 0 ? 1.25 : 0.8, place(e));
	}, { passive: false });
	view.addEventListener("pointerdown", e => { grip = place(e); view.setPointerCapture(e.pointerId); });
	view.addEventListener("pointermove", e => {
		if (grip !== null) {
			const by = grip - place(e);
			move(from + by, to + by);
		}
	});
	view.addEventListener("pointerup", () => { grip = null; });
}

document.querySelectorAll("div.table").forEach(setUpTable);
document.querySelectorAll("figure.zoom").forEach(setUpZoom);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
