/** The start page: a field that leaves only the cards with all of its words. */
const cards = [...document.querySelectorAll(".card")];
const field = document.getElementById("search");

function search() {
  const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const card of cards) {
    const text = card.textContent.toLowerCase();
    const fits = wanted.every((word) => text.includes(word));
    card.parentElement.hidden = !fits;
    found += fits;
  }
  for (const section of document.querySelectorAll("section"))
    section.hidden = !section.querySelector("li:not([hidden])");
  document.getElementById("found").textContent = `${found} systems`;
}

field.addEventListener("input", search);
search();
