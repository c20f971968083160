// Splunk's JavaScript SDK against a server: every call that its users make of the search API. What came
// of each is printed as one JSON object; test_sdk_js.py looks at it.
//
// Arguments: the folder of the SDK, the port of the server, a user, the password, an index with 30 events.

'use strict'

const [sdk, port, username, password, index] = process.argv.slice(2)
const splunk = require(sdk)

splunk.Logger.setLevel('NONE')

const service = (changes = {}) =>
  new splunk.Service({
    scheme: 'https',
    host: '127.0.0.1',
    port,
    username,
    password,
    version: '9.4',
    ...changes,
  })

const failure = async (call) => {
  try {
    await call()
    return null
  } catch (error) {
    return { status: error.status, text: error.data?.messages?.[0]?.text }
  }
}

const done = (job) =>
  new Promise((resolve, reject) =>
    job.track({ period: 20 }, { done: resolve, failed: reject, error: reject }),
  )

async function searches(svc, found) {
  const job = await done(await svc.search(`search index=${index}`, { id: 'js_sdk_job' }))
  found.sid = job.sid
  found.job = job.properties()
  const pages = []
  for (const offset of [0, 20]) pages.push((await job.results({ count: 20, offset }))[0])
  found.pages = pages.map((page) => page.rows.length)
  found.fields = pages[0].fields
  found.asObjects = (await job.results({ count: 1, output_mode: 'json' }))[0].results
  found.events = (await job.events({ count: 5 }))[0].rows.length
  found.furtherEvents = (await job.events({ search: '| head 3' }))[0]
  found.preview = (await job.preview({ count: 5 }))[0].rows.length
  found.summary = (await job.summary({}))[0].event_count
  found.timeline = (await job.timeline({}))[0].event_count
  found.listed = (await svc.jobs().fetch()).list().some((one) => one.sid === job.sid)
  await job.touch()
  await job.setTTL(1234)
  found.ttl = (await job.fetch()).properties().ttl
  await job.setPriority(6)
  await job.enablePreview()
  await job.disablePreview()
  await job.pause()
  await job.unpause()
  await job.finalize()
  await job.cancel()
  found.gone = await failure(() => job.fetch())
  const oneshot = await svc.oneshotSearch(`search index=${index} | stats count by group`, {
    output_mode: 'json',
  })
  found.oneshot = oneshot.results
  found.xml = await svc.oneshotSearch(`search index=${index} | stats count`, { output_mode: 'xml' })
  const made = 'makeresults count=2 | eval a=1 | table a'
  found.csv = await svc.oneshotSearch(made, { output_mode: 'csv' })
  found.nothing = await svc.oneshotSearch(`search index=${index} nowhere_to_be_found`)
  found.wrong = await failure(() => svc.search('| boguscmd', {}))
}

async function objects(svc, found) {
  const space = { owner: username, app: 'search' }
  let search = await svc
    .savedSearches(space)
    .create({ name: 'js saved', search: `search index=${index} | head 2` })
  search = await search.update({ description: 'made by the SDK' })
  found.savedSearch = search.properties().description
  const [job] = await search.dispatch({ 'dispatch.buckets': 10 })
  await done(job)
  found.savedResults = (await job.results({}))[0].rows.length
  const [history] = await search.history()
  found.history = history.map((one) => one.sid).includes(job.sid)
  await job.cancel()
  await search.remove()
  found.savedSearchGone = (await svc.savedSearches(space).fetch()).item('js saved')

  const indexes = await svc.indexes().create('js_index')
  const answer = await svc.log('one event', { index: 'js_index', sourcetype: 'plain' })
  found.submitted = answer[0] ?? answer
  found.index = indexes.name
  found.twice = await failure(() => svc.indexes().create('js_index'))
  const user = await svc.users().create({ name: 'js_user', password: 'a password', roles: 'user' })
  found.roles = (await user.update({ realname: 'Jay' })).properties().roles
  await user.remove()
  const passwords = await svc.storagePasswords().fetch()
  const secret = await passwords.create({ name: 'me', realm: 'there:1', password: 's3cret' })
  found.password = { name: secret.name, clear: secret.properties().clear_password }
  await secret.remove()
  const app = await svc.apps().create({ name: 'js_app' })
  found.app = app.properties().version
  await app.remove()
  const files = await svc.configurations(space).fetch()
  found.files = files.list().map((file) => file.name)
}

async function main() {
  const found = {}
  const svc = service()
  found.login = await svc.login()
  found.wrongPassword = await failure(() => service({ password: 'wrong' }).login())
  found.version = (await svc.serverInfo()).properties().version
  found.user = (await svc.currentUser()).name
  await searches(svc, found)
  await objects(svc, found)
  found.parsed = (await svc.parse(`search index=${index} | stats count`)).commands.length
  found.parseError = await failure(() => svc.parse('ABCXYZ'))
  found.typeahead = await svc.typeahead('index=', 100)
  found.unknownJob = await failure(() => new splunk.Service.Job(svc, 'no_such_job').fetch())
  process.stdout.write(JSON.stringify(found))
}

main().catch((error) => {
  process.stderr.write(`${error.stack ?? JSON.stringify(error)}\n`)
  process.exit(1)
})
