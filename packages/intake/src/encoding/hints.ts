import { commands } from '../commands.ts'
import { describeBareKey } from '../formats/bare.ts'

/** Explains why a text has no PEM block, and how to fix it if the encoding is recognized. */
export function describeMissingPem(text: string): string {
  const advice = hints.find(([pattern]) => pattern.test(text))?.[1] ?? describeBareKey(text)
  return `No PEM block was found. A public key begins with -----BEGIN PUBLIC KEY----- and ends with -----END PUBLIC KEY-----. ${advice ?? `To print it: ${commands.exportPublic}`}`
}

const hints: readonly [pattern: RegExp, advice: string][] = [
  [/%0[AaDd]|%2[BbFf0]|BEGIN(%20|\+)/, 'The text is URL-encoded: decode it.'],
  [/^LS0tLS1CRUdJTi/, `This is base64 of a whole PEM file. Decode it: ${commands.decodeBase64}`],
  [/LS0tLS1CRUdJTi/, 'It contains base64 of a whole PEM file: decode that part.'],
  [/^https?:\/\//i, 'This is an address: fetch it and send the key in PEM.'],
  [
    /^ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.|$)/,
    'This is a token: send the public key that verifies it.',
  ],
  [/^<(?:!doctype|html)/i, 'This is a web page: send the key in PEM.'],
  [/<RSAKeyValue>/, 'This is XML of .NET: export the key with ExportSubjectPublicKeyInfoPem().'],
  [
    /Public-Key: \(\d+ bit/,
    'This is a description by openssl: repeat the command without -text and -noout.',
  ],
  [
    /^(?:undefined|null|none|nil|\[object \w+\]|\$\{?\w+\}?|\{\{.*\}\})$/i,
    'This is an unset variable or an unconverted object: check the program that sends the key.',
  ],
  [
    /^[^\s-]{1,200}\.(?:pem|pub|key|crt|cer|der|jwks?|json|txt)$/i,
    'This is the name of a file: send its content.',
  ],
  [/^[[{]/, 'This looks like damaged JSON: send the key in PEM.'],
  [
    /-----\s?begin/i,
    'The BEGIN line is misspelled: use five dashes on each side and an upper-case label.',
  ],
  [/begin[ a-z0-9]{0,40}key/i, 'The BEGIN line needs exactly five dashes on each side.'],
  [/-----END /, 'The BEGIN line is missing: copy the whole key.'],
]
