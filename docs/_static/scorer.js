// The order of what a search finds: titles that have its words first, guides before pages of names.
var Scorer = {
  score: ([page, title, , , score]) => {
    const asked = new URLSearchParams(location.search).get("q") || "";
    const words = asked.toLowerCase().split(/[^a-z0-9]+/).filter(word => word.length > 2);
    const there = words.filter(word => title.toLowerCase().includes(word.slice(0, 6))).length;
    return score + 20 * there / Math.max(words.length, 1) - (words.length > 1 && page.includes("/") ? 30 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
