/** An exported page: the run is in the page. */
import { unpackExported } from "studio/data";
import { View } from "studio/view";

const view = new View();
const messages = JSON.parse(document.getElementById("run").textContent);
for (const text of messages) {
  const message = await unpackExported(text);
  if (message.header.kind === "run") view.take(message);
  else view.more(message);
  if (message.header.forces?.contacts) view.showForces("contacts", true);
}
