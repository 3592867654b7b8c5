import process from 'node:process'
import { setFlagsFromString } from 'node:v8'
import type { HttpApp } from '@pubring/server/app'
import { clientSettings } from '@pubring/server/config/client-settings'
import type { Config } from '@pubring/server/config/server-settings'
import { firstProject, prepareRegistry } from '@pubring/server/first-start'
import { type RevisionWatch, staleAfterMs } from '@pubring/server/kernel/ledger/revision-watch'
import { collectStartupGarbage } from '@pubring/server/runtime/threads'
import { exitCodes } from '../terminal/exit-codes.ts'
import { createApp, listen, listenForMetrics, openRegistry } from './instance.ts'
import { prepareReloads, type Server } from './reload.ts'
import { ignoreOtherSignals, onShutdownSignal, shutDown } from './shutdown.ts'

/**
 * Runs the server until a signal ends it. `load` reads the settings, again at each SIGHUP. Rejects
 * with a one-line message if it cannot start: it never serves another store than the configured one.
 */
export async function serve(load: () => Config): Promise<void> {
  const config = load()
  ignoreOtherSignals()
  // V8 collects old objects once they have grown by 40 %. By default it lets them grow to four times as
  // much, which a cache that replaces its entries always reaches.
  setFlagsFromString('--heap-growing-percent=40')
  const startReloads = prepareReloads(config, load)
  startReloads(await startServer(config))
}

async function startServer(config: Config): Promise<Server> {
  const server = await listenFirst(config)
  const { app, registry } = server
  onShutdownSignal(
    (signal) => void shutDown(app, config.shutdownGrace, signal),
    () => process.exit(exitCodes.error.code),
  )
  await closeIfFailed(app, registry.prepared)
  // Only now, because the API key is shown only once: a taken port has been reported before.
  const preparing = prepareRegistry(registry.context, config.adminApiKey)
  const { newSecret } = await closeIfFailed(app, preparing)
  // Before anything that may wait, since the API key is stored by now.
  if (newSecret !== undefined) process.stdout.write(welcome(config.publicUrl, newSecret))
  await firstRead(app.kernel.watch)
  app.readiness.starting = false
  if (newSecret === undefined && process.stdout.isTTY) {
    process.stdout.write(`Pubring is ready at ${config.publicUrl}\n`)
  }
  return server
}

/**
 * Opens the registry and listens. Until it is prepared, the process is not ready, and all requests
 * that need the database get 503. Closes everything if a step fails.
 */
async function listenFirst(config: Config): Promise<Server> {
  const opening = openRegistry(config)
  // The store opens on its own thread in the meantime.
  const [registry] = await Promise.all([opening, import('@pubring/server/app')])
  let app: HttpApp | undefined
  try {
    app = await createApp(registry, config)
    app.readiness.starting = true
    await listenForMetrics(config, app.metrics)
    // Before the first request, which would wait for it.
    await collectStartupGarbage()
    await listen(app, config)
    return { app, registry }
  } catch (error) {
    // A thread or connection left open would keep the process alive.
    await (app ?? registry).close()
    throw error
  }
}

/** Readiness relies on the watch, which has tried in vain while the database was not prepared. */
async function firstRead(watch: RevisionWatch): Promise<void> {
  if (watch.ageMs() <= staleAfterMs) return
  const { promise, resolve } = Promise.withResolvers<void>()
  watch.onRead(({ outcome }) => {
    if (outcome === 'completed') resolve()
  })
  await promise
}

async function closeIfFailed<Result>(app: HttpApp, step: Promise<Result>): Promise<Result> {
  try {
    return await step
  } catch (error) {
    await app.close()
    throw error
  }
}

/** The commands find a server at the default address without this. */
function serverAddress(publicUrl: string): string {
  if (publicUrl === clientSettings.url.default) return ''
  return `  export PUBRING_URL=${publicUrl}\n`
}

/**
 * Text of the first start: the only time that the secret is shown, and lines that work as
 * pasted into a POSIX shell with openssl, awk and curl.
 */
function welcome(publicUrl: string, secret: string): string {
  const keys = `${publicUrl}/v1/projects/${firstProject}/jwt-keys`
  return `
Pubring is ready at ${publicUrl}

Your admin API key, shown only once (keep it safe):

  export PUBRING_API_KEY=${secret}
${serverAddress(publicUrl)}
Generate a key pair; private.pem stays with the signer:

  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out private.pem
  openssl pkey -in private.pem -pubout -out public.pem

Register the public half:

  curl -sS ${keys} -H "X-Api-Key: $PUBRING_API_KEY" -H 'Content-Type: application/json' -d "{\\"name\\": \\"orders, spring\\", \\"algorithm\\": \\"ES256\\", \\"publicKeyPem\\": \\"$(awk '{printf "%s\\\\n", $0}' public.pem)\\"}"

List the project's keys:

  curl -sS ${keys} -H "X-Api-Key: $PUBRING_API_KEY"

Console: ${publicUrl}/console
API documentation: ${publicUrl}/docs
`
}
