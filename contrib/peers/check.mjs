// Holds Freshet against the official libraries of its peers, which are not written in Go: a
// daemon polls a page that changes, and tells of it by webhooks, CloudEvents, the change stream,
// feeds, Memento and exports. Run it with: make peers
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HTTP } from 'cloudevents'
import { EventSource } from 'eventsource'
import { parseFeed, parseOpml } from 'feedsmith'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import memento from 'memento-client'
import { Webhook } from 'standardwebhooks'
import { WARCParser } from 'warcio'

const secret = 'whsec_' + Buffer.from('a key of thirty-two bytes, or so').toString('base64')
const wanted = 3 // changes

// The page that changes, and the receivers.
let version = 0
const arrived = { webhook: [], structured: [], binary: [] }
const server = createServer(async (req, res) => {
  const path = req.url.slice(1)
  if (path === 'page') {
    res.setHeader('content-type', 'text/html')
    res.end(`<title>Page</title><p>Price of <b>tea &amp; "cakes"</b> in Zürich, version ${++version}.</p>`)
    return
  }
  if (!(path in arrived)) { // robots.txt
    res.writeHead(404).end()
    return
  }
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  arrived[path].push({ headers: req.headers, body: Buffer.concat(chunks).toString() })
  res.end()
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const at = `http://127.0.0.1:${server.address().port}`

// The daemon.
const dir = mkdtempSync(join(tmpdir(), 'freshet-peers-'))
writeFileSync(join(dir, 'freshet.yaml'), `
data: ${dir}/data
listen: 127.0.0.1:0
budget: 5/s
policy: uniform
source_gap: 0s
source_share: 100%
hosts: {delay: 0s, share: 100%}
allow_cidr: [127.0.0.0/8]
log: {level: error}
sources: [{id: page, url: "${at}/page", name: 'Tea & "cakes"', tags: [shop]}]
sinks:
  - {name: webhook, kind: webhook, url: "${at}/webhook", settings: {secret: ${secret}}}
  - {name: structured, kind: cloudevents, url: "${at}/structured"}
  - {name: binary, kind: cloudevents, url: "${at}/binary", settings: {mode: binary}}
`)
const daemon = spawn(process.argv[2], ['serve', '--config', join(dir, 'freshet.yaml')], { stdio: ['ignore', 'pipe', 'inherit'] })
process.on('exit', () => daemon.kill()) // also after a mistake in here
const base = await new Promise((found, failed) => {
  daemon.on('exit', (code) => failed(new Error(`the daemon ended with ${code}`)))
  let said = ''
  daemon.stdout.on('data', (chunk) => {
    said += chunk
    const m = said.match(/listening on (\S+)\n/)
    if (m) found(m[1])
  })
})

const waited = async (what, ready) => {
  for (const end = Date.now() + 60_000; !ready(); ) {
    if (Date.now() > end) throw new Error(`no ${what} within a minute`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

const checks = {
  'webhooks, by standardwebhooks': async () => {
    await waited('webhooks', () => arrived.webhook.length >= wanted)
    const wh = new Webhook(secret)
    for (const { headers, body } of arrived.webhook) assert.equal(wh.verify(body, headers).data.source, 'page')
    const { headers, body } = arrived.webhook[0]
    assert.throws(() => wh.verify(body.replace('page', 'fake'), headers), 'a body that was changed is taken for ours')
    assert.throws(() => new Webhook('whsec_' + Buffer.alloc(32).toString('base64')).verify(body, headers), 'a wrong key is right')
  },
  'CloudEvents in both modes, by cloudevents': async () => {
    for (const mode of ['structured', 'binary']) {
      await waited(`CloudEvents (${mode})`, () => arrived[mode].length >= wanted)
      const events = arrived[mode].map((message) => HTTP.toEvent(message))
      for (const event of events) {
        assert.ok(event.validate())
        assert.equal(event.specversion, '1.0')
        assert.equal(event.type, 'freshet.change')
        assert.equal(event.subject, `${at}/page`)
        assert.equal(event.data.name, 'Tea & "cakes"')
        assert.ok(Math.abs(Date.now() - Date.parse(event.time)) < 120_000)
      }
      assert.deepEqual(events.map((event) => event.data.seq), events.map((_, i) => i + 1))
    }
  },
  'the change stream, by eventsource': async () => {
    const seen = []
    const read = (headers, enough) => new Promise((done, failed) => {
      const source = new EventSource(`${base}/api/v1/changes/stream?after=0`, {
        fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...headers } }),
      })
      source.onerror = (e) => { source.close(); failed(new Error(`the stream failed: ${e.message}`)) }
      source.addEventListener('change', (e) => {
        seen.push({ id: e.lastEventId, event: JSON.parse(e.data) })
        if (seen.length >= enough) { source.close(); done() }
      })
    })
    await read({}, wanted)
    await read({ 'Last-Event-ID': seen.at(-1).id }, 2 * wanted)
    assert.deepEqual(seen.map((s) => s.event.data.seq), seen.map((_, i) => i + 1), 'the stream has a gap after it was resumed')
    for (const s of seen) assert.equal(s.id, s.event.data.cursor)
  },
  'Atom, RSS and JSON Feed, by feedsmith': async () => {
    const atom = parseFeed(await (await fetch(`${base}/api/v1/feed.atom?tag=shop&limit=2`)).text())
    assert.equal(atom.format, 'atom')
    assert.equal(atom.feed.entries.length, 2)
    for (const entry of atom.feed.entries) {
      assert.match(JSON.stringify(entry.title), /Tea & /)
      assert.match(JSON.stringify(entry.content), /version \d/)
      assert.ok(entry.id && Date.parse(entry.updated))
    }
    const next = atom.feed.links.find((link) => link.rel === 'next')
    const older = parseFeed(await (await fetch(new URL(next.href, base))).text())
    assert.ok(older.feed.entries.every((entry) => atom.feed.entries.every((e) => e.id !== entry.id)), 'a page has an entry of the one before')
    const rss = parseFeed(await (await fetch(`${base}/api/v1/feed.rss?tag=shop&limit=2`)).text())
    assert.equal(rss.format, 'rss')
    assert.deepEqual(rss.feed.items.map((item) => item.guid.value), atom.feed.entries.map((entry) => entry.id))
    for (const item of rss.feed.items) {
      assert.match(item.title, /Tea & "cakes"/)
      assert.ok(Date.parse(item.pubDate) && item.link)
    }
    const json = parseFeed(await (await fetch(`${base}/api/v1/sources/page/feed.json`)).text())
    assert.equal(json.format, 'json')
    assert.ok(json.feed.items.length >= wanted && json.feed.items[0].id && json.feed.items[0].content_html)
  },
  'exported WARC, by warcio': async () => {
    const file = exported('versions', 'warc.gz', '--format', 'warc')
    const kinds = {}
    for await (const record of new WARCParser(createReadStream(file))) {
      kinds[record.warcType] = (kinds[record.warcType] ?? 0) + 1
      const body = new TextDecoder().decode(await record.readFully(true))
      if (record.warcType !== 'response') continue
      assert.equal(record.warcTargetURI, `${at}/page`)
      assert.equal(record.httpHeaders.headers.get('content-type'), 'text/html')
      assert.match(body, /in Zürich, version \d+\.<\/p>$/)
    }
    assert.equal(kinds.warcinfo, 1)
    assert.ok(kinds.response > wanted, JSON.stringify(kinds))
  },
  'exported Parquet, by hyparquet': async () => {
    const file = await asyncBufferFromFile(exported('changes', 'parquet', '--format', 'parquet'))
    const rows = await parquetReadObjects({ file, compressors })
    assert.ok(rows.length >= wanted)
    assert.deepEqual(rows.map((row) => row.seq), rows.map((_, i) => BigInt(i + 1)))
    for (const row of rows) {
      assert.deepEqual([row.source, row.name, row.tags], ['page', 'Tea & "cakes"', ['shop']])
      assert.ok(row.before instanceof Date && row.after < row.before)
    }
  },
  'exported OPML, by feedsmith': async () => {
    const { body } = parseOpml(readFileSync(exported('opml', 'opml'), 'utf8'))
    assert.deepEqual(body.outlines.map((o) => [o.text, o.type, o.url ?? o.xmlUrl]), [['Tea & "cakes"', 'link', `${at}/page`]])
  },
  'exported git repository, by git': async () => {
    const repo = join(dir, 'history.git')
    execFileSync(process.argv[2], ['export', 'versions', '--format', 'git', '--dir', repo, '--server', base, '--config', 'none'], { stdio: 'pipe' })
    execFileSync('git', ['-C', repo, 'fsck', '--strict'], { stdio: 'pipe' })
    assert.ok(Number(execFileSync('git', ['-C', repo, 'rev-list', '--count', 'main'])) > wanted)
  },
  'TimeGate and TimeMap, by memento-client': async () => {
    const ask = (options) => new Promise((done, failed) => memento(`${at}/page`, options, (err, found) => err ? failed(err) : done(found)))
    const all = (await ask({ host: `${base}/timemap/link/` })).filter((link) => /memento/.test(link.rel))
    assert.ok(all.length >= 2 && all[0].rel === 'first memento' && all.at(-1).rel === 'last memento', JSON.stringify(all))
    const [nearest] = await ask({ host: `${base}/timegate/`, time: all[0].datetime })
    assert.equal(nearest.href, all[0].href)
    const page = await fetch(nearest.href)
    assert.equal(Date.parse(page.headers.get('memento-datetime')), Date.parse(all[0].datetime))
    assert.match(await page.text(), /, version \d+\./)
  },
}

// exported runs an export, and returns its file.
function exported(what, ending, ...args) {
  const file = join(dir, `${what}.${ending}`)
  execFileSync(process.argv[2], ['export', what, '--out', file, '--server', base, '--config', 'none', ...args], { stdio: 'pipe' })
  return file
}
let failed = 0
for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(`ok      ${name}`)
  } catch (err) {
    failed++
    console.log(`FAILED  ${name}\n${err.stack}`)
  }
}
daemon.removeAllListeners('exit')
await new Promise((done) => { daemon.on('exit', done); daemon.kill('SIGTERM') })
server.closeAllConnections()
server.close()
rmSync(dir, { recursive: true })
process.exit(failed ? 1 : 0)
