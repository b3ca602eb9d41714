// Shows a view in the frame that the console serves it for, and prints the first message of it with its origin.
//
//   node view.mjs PLAYWRIGHT CHROMIUM LINK SERVER URI
//
// SERVER is what the console's inspector connects to, as JSON.
import { createRequire } from 'node:module'
const [playwright, executablePath, link, server, uri] = process.argv.slice(2)
const { chromium } = createRequire(import.meta.url)(playwright)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  const page = await browser.newPage()
  await page.goto(link)
  await page.waitForURL(url => !url.search)
  const said = await page.evaluate(async ({ server, uri }) => {
    const began = await fetch('api/v1/connections', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: server })
    const { id } = await began.json()
    await new Promise((resolve, reject) => {
      const events = new EventSource(`api/v1/connections/${id}/events`)
      events.addEventListener('state', event => {
        const { state } = JSON.parse(event.data)
        if (state === 'connecting') return
        events.close()
        state === 'connected' ? resolve() : reject(new Error(event.data))
      })
    })
    const first = new Promise(resolve => addEventListener('message', event => resolve({ origin: event.origin, data: event.data })))
    const frame = document.createElement('iframe')
    frame.setAttribute('sandbox', 'allow-scripts')
    frame.src = `api/v1/connections/${id}/app?uri=${encodeURIComponent(uri)}`
    document.body.append(frame)
    return first
  }, { server, uri })
  console.log(JSON.stringify(said))
} finally {
  await browser.close()
}
