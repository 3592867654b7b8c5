/**
 * Verifiers with a connection each, or clients that hold requests. The parent sends a token and whether it
 * waits for it to be accepted or refused, and receives when each verifier began the check that did so: while
 * one loads the key set, it accepts nothing.
 */
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { jwtVerify } from 'jose'
import { projectKeySet } from '../../packages/client/src/verify.ts'
import { clientsAtOnce, openClient } from '../load/held-client.ts'

/** The work of the process, as JSON in its argument. Each verifier has an address of the issuer. */
export type Duty =
  | { issuers: string[]; recheckMs: number }
  | { held: number; port: number; path: string }

export interface Order {
  token: string
  isAccepted: boolean
}

/** Milliseconds by a clock that all processes of the machine share. */
export const sharedTime = () => Number(process.hrtime.bigint()) / 1e6

/** Checks at each change of the key set, and after `recheckMs`: without contact there is none. */
function createVerifier(issuer: string, recheckMs: number) {
  let changed = Promise.withResolvers<void>()
  const keys = projectKeySet(issuer, {
    onChange() {
      changed.resolve()
      changed = Promise.withResolvers()
    },
  })
  return async ({ token, isAccepted }: Order): Promise<number> => {
    for (;;) {
      const [news, time] = [changed.promise, sharedTime()]
      const outcome = await jwtVerify(token, keys).then(
        () => true,
        () => false,
      )
      if (outcome === isAccepted) return time
      await Promise.race([news, delay(recheckMs)])
    }
  }
}

function verify(issuers: readonly string[], recheckMs: number): void {
  const verifiers = issuers.map((issuer) => createVerifier(issuer, recheckMs))
  process.on('message', async (order: Order) => {
    process.send?.(await Promise.all(verifiers.map((until) => until(order))))
  })
}

/** Repeats each request as soon as it is answered, and reads nothing but the entity tag. */
async function hold({ held, port, path }: { held: number; port: number; path: string }) {
  for (let open = 0; open < held; open += clientsAtOnce) {
    const some = Array.from({ length: Math.min(clientsAtOnce, held - open) }, async () => {
      const client = openClient(port)
      const response = await client.get(path)
      if (response === undefined) throw new Error('a connection was reset')
      client.holdAgain(path, response.etag)
    })
    await Promise.all(some)
  }
}

if (import.meta.main) {
  const duty: Duty = JSON.parse(process.argv[2] ?? '')
  if ('issuers' in duty) verify(duty.issuers, duty.recheckMs)
  else await hold(duty)
  process.once('disconnect', () => process.exit())
  process.send?.('ready')
}
