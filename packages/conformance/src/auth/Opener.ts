/**
 * What stands in for the program that opens a browser: a person without a screen signs in at the URL, visits the page that
 * the browser is sent back to, and notes what it shows. Arguments: the file of notes, a name, a choice, the URL.
 */
import { appendFileSync } from "node:fs"
import { walk } from "./Person.ts"

const [notes = "", name = "", choice = "allow", start = ""] = process.argv.slice(2)
const url = new URL(start)
const back = await walk(url, url.searchParams.get("redirect_uri") ?? "", {
  name,
  choice: choice === "deny" ? choice : "allow"
})
const response = await fetch(back)
appendFileSync(notes, `${JSON.stringify({ url: start, status: response.status, page: await response.text() })}\n`)
