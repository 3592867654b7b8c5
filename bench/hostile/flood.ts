/**
 * A process that keeps as many key checks open as it has clients, until its parent ends it. It sends
 * the next one 100 ms after a rejection without regard to `Retry-After`, and a message to its parent for
 * each key that was checked.
 */
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

/** The work that the parent sends. */
export interface Flood {
  url: string
  apiKey: string
  publicKeyPem: string
  clients: number
}

const pauseMs = 100

async function flood({ url, apiKey, publicKeyPem }: Flood): Promise<void> {
  const headers = { 'X-Api-Key': apiKey, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ publicKeyPem })
  for (;;) {
    const response = await fetch(`${url}/v1/key-checks`, { method: 'POST', headers, body })
    await response.arrayBuffer()
    if (response.status === 200) process.send?.('checked')
    else await delay(pauseMs)
  }
}

process.once('message', (message: Flood) => {
  for (let client = 0; client < message.clients; client += 1) void flood(message)
})
