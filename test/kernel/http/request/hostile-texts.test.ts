import { test } from 'vitest'
import { readPem } from '../../../../packages/intake/src/encoding/pem.ts'
import { checkCharacters } from '../../../../packages/intake/src/encoding/text.ts'
import { examineKey } from '../../../../packages/intake/src/examine.ts'
import { containsSecret, findSecret } from '../../../../packages/intake/src/secrets/detector.ts'
import { detectWrongKind } from '../../../../packages/intake/src/wrong-kind.ts'
import { heldSeconds } from '../../../../packages/server/src/features/publishing/preferences.ts'
import { parseProjectRef } from '../../../../packages/server/src/kernel/access/projects.ts'
import { parseApiKeySecret } from '../../../../packages/server/src/kernel/access/secrets.ts'
import { parseEntityTags } from '../../../../packages/server/src/kernel/entity-tags.ts'
import {
  containsApiKey,
  redact,
} from '../../../../packages/server/src/kernel/exposure/redaction.ts'
import { prefers } from '../../../../packages/server/src/kernel/http/request/headers.ts'
import { parseLabel } from '../../../../packages/server/src/kernel/values/labels.ts'
import { parseTime } from '../../../../packages/server/src/kernel/values/times.ts'
import { decodeToken } from '../../../../packages/server/src/tokens/decode.ts'
import { quote } from '../../../../packages/server/src/tokens/findings.ts'
import { startApp } from '../../../support/app/app.ts'
import { emptyBlocklist } from '../../../support/keys/intake.ts'
import { expectWithin } from '../../../support/timing.ts'

const server = await startApp({ http: { trustProxy: true } })
const writer = await server.apiKey('writer')

/** Milliseconds of processor time that no text may cost; what is not linear costs seconds. */
const bound = 200

/** The parts that a text repeats: all that a pattern of ours takes for a beginning. */
const parts = [
  ...[' ', '\t', '\n', '\r\n', ';', '; ', ', ', '"', '\\', '\\"', '",', '=', '==', '=\n', '.', '-'],
  ...['a', 'A', '0', 'f', 'a=', ';a="', ';q=0.1', 'W/"', 'wait=1,', 'x="\\', '00:', '00 ', '0x'],
  ...['&a=', '-----', '-----BEGIN ', '-----BEGIN A-----', '-----END ', 'BEGIN ', 'BEGINPRIVATE '],
  ...['PRIVATE_', 'Private-Key: ', 'kty ', 'kty: ', ' d ', '{d', '"d":', '<D> ', '<D>A', '<', '<a'],
  ...['&#', '&a', '%2', '=3D', '\\u0041', '\\x', 'M', 'MA', 'MII-', 'MIIA', 'ey', 'ey-', 'eyJ'],
  ...['eyaaaaaaaa.', 'pubring_', '{', '[', '{"a":', '["a",', 'LS0tLS1', '3002', '020100'],
  ...['MAMCAQA', 'ssh-rsa ', 'sk-', 'AAAAB', 'begin ', 'bearer ', '/', 'x/', '?', '%', 'a&'],
  ...['\u2014', '\uff0d', '\0', '\ud800', '\u4d4d'],
]

type Reader = (text: string) => unknown

/** Headers may have 64 KiB together, bodies too; a key that is looked at, 16 KiB. */
const headers = 65_000
const readers: [string, number, Reader, string?][] = [
  ['Accept', headers, (text) => prefers(text, 'text/event-stream')],
  ['Prefer', headers, (text) => heldSeconds(text, false)],
  ['If-None-Match', headers, (text) => parseEntityTags(text)],
  ['X-Api-Key', headers, parseApiKeySecret],
  ['a path', headers, parseProjectRef],
  ['a line of the log', headers, redact],
  ['an address', headers, containsApiKey],
  ['a time', headers, parseTime],
  ['a token', headers, decodeToken],
  ['foreign text in a sentence', headers, quote],
  ['a label', 250, (text) => parseLabel(text, '/name')],
  ['a long label', headers, (text) => parseLabel(text, '/name')],
  ['a text over the limit', headers, (text) => containsSecret(text, 16_384)],
  ['a text with a secret', 16_384, findSecret],
  ['a PEM', 16_384, readPem],
  ['the body of a PEM', 16_384, readPem, '-----BEGIN PUBLIC KEY-----\n'],
  ['characters', 16_384, checkCharacters],
  ['another kind of key', 16_384, detectWrongKind],
  ['a key', 16_384, (text) => examineKey(text, 'RSA', emptyBlocklist)],
  ['a key that is too long', headers, (text) => examineKey(text, 'RSA', emptyBlocklist)],
]

/** Refusing a text is one way to be done with it. */
async function timeOf(read: Reader, text: string): Promise<number> {
  const begun = process.cpuUsage()
  try {
    await read(text)
  } catch {}
  return process.cpuUsage(begun).user / 1_000
}

/** From short to long: what is exponential is found before it would take for ever. */
async function expectQuick(read: Reader, max: number, part: string, start = ''): Promise<void> {
  const most = Math.floor((max - start.length - 1) / part.length)
  for (const count of [25, 500, most]) {
    if (count > most) continue
    const text = `${start}${part.repeat(count)}!`
    const first = await timeOf(read, text)
    const time = first < bound ? first : Math.min(first, await timeOf(read, text))
    expectWithin(bound, time)
  }
}

test.each(readers)('%s is read in linear time', async (_name, max, read, start) => {
  for (const part of parts) await expectQuick(read, max, part, start)
})

const keys = '/v1/projects/payments/jwt-keys'
const json = 'application/json'
const printable = (text: string) => text.replace(/[^\t\x20-\x7e]/g, '.')
const send = (method: 'POST' | 'DELETE' | 'GET', url: string, header: object, payload?: string) =>
  server.inject({
    method,
    url,
    headers: { 'x-api-key': writer, ...header },
    ...(payload === undefined ? {} : { payload }),
  })

const requests: [string, Reader, string?][] = [
  [
    'Content-Type of a body that is read',
    (text) => send('POST', keys, { 'content-type': printable(text) }, '{}'),
    json,
  ],
  [
    'Content-Type of a body that is not',
    (text) => send('DELETE', `${keys}/x`, { 'content-type': printable(text) }, '{}'),
    `${json};`,
  ],
  ['X-Forwarded-For', (text) => send('GET', keys, { 'x-forwarded-for': printable(text) })],
  ['Last-Event-ID', (text) => send('GET', '/v1/events', { 'last-event-id': printable(text) })],
  [
    'the query',
    (text) => send('GET', `${keys}?${encodeURI(printable(text))}`.slice(0, headers), {}),
  ],
  ['the address', (text) => send('GET', `/${encodeURI(printable(text))}`.slice(0, headers), {})],
  ['a body that is no JSON', (text) => send('POST', keys, { 'content-type': json }, text)],
  [
    'members of a body',
    (text) =>
      send(
        'POST',
        keys,
        { 'content-type': json },
        JSON.stringify({ name: text, publicKeyPem: text, algorithm: text, expireTime: text }),
      ),
  ],
]

test.each(requests)('%s is read in linear time', async (_name, read, start) => {
  for (const part of parts.slice(0, 40)) await expectQuick(read, 15_000, part, start)
})
