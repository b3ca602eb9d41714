// The page of the console in Chromium: its files are served with the headers of the console, and nothing else.
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {join, normalize} from 'node:path';
import {chromium} from 'playwright-core';

const kinds = {js: 'text/javascript', css: 'text/css', html: 'text/html; charset=utf-8', svg: 'image/svg+xml'};
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";

/** browse opens a page with some modules of the console: {page, faults, close}. */
export async function browse(web, own, program, script, options = {}) {
  const faults = [];
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname).slice(1);
    try {
      const data = path === '' ? `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Forms</title><link rel="stylesheet" href="style.css"><link rel="stylesheet" href="form.css"><link rel="icon" href="data:,"><main></main><script type="module" src="${script}"></script></html>` :
        await readFile(join(web, path)).catch(() => readFile(join(own, path)));
      response.writeHead(200, {'Content-Type': kinds[path.split('.').pop() || 'html'] ?? 'application/octet-stream', 'Content-Security-Policy': policy});
      response.end(data);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await chromium.launch({executablePath: program, args: ['--no-sandbox', '--disable-gpu']});
  const context = await browser.newContext({locale: 'en-US', timezoneId: 'Asia/Kolkata', ...options});
  const page = await context.newPage();
  page.on('pageerror', (fault) => faults.push(String(fault)));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => document.readyState === 'complete' && window.form);
  return {page, context, faults, close: async () => {
    await browser.close();
    server.close();
  }};
}
