import { fixture, pem } from './intake.ts'

const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()
export const base64 = (text: string | Buffer) => Buffer.from(text as string).toString('base64')

/** Encodings in which a PEM text may be submitted. */
export const encodings: Record<string, (text: string) => string> = {
  'as it is': (text) => text,
  CRLF: (text) => text.replaceAll('\n', '\r\n'),
  'CR only': (text) => text.replaceAll('\n', '\r'),
  indented: (text) => text.replaceAll(/^/gm, '    '),
  'one line': (text) => text.replaceAll('\n', ' '),
  glued: (text) => text.replaceAll('\n', ''),
  escaped: (text) => text.replaceAll('\n', '\\n'),
  'escaped twice': (text) => text.replaceAll('\n', '\\\\n'),
  'escaped slashes': (text) => JSON.stringify(text).replaceAll('/', '\\/'),
  'a JSON string': (text) => JSON.stringify(text),
  'a JSON string twice': (text) => JSON.stringify(JSON.stringify(text)),
  'in a JSON object': (text) => JSON.stringify({ type: 'service_account', private_key: text }),
  'in single quotes': (text) => `'${text}'`,
  'unicode escapes': (text) => text.replaceAll('-', '\\u002d').replaceAll('\n', '\\u000a'),
  BOM: (text) => `\uFEFF${text}`,
  'UTF-16LE read as Latin-1': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
  'UTF-16LE read as UTF-8': (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').toString('utf8'),
  'UTF-16BE read as UTF-8': (text) => utf16be(text).toString('utf8'),
  'UTF-16BE read as UTF-16LE': (text) => utf16be(text).toString('utf16le'),
  'ASCII read as UTF-16LE': (text) =>
    Buffer.from(`${text}\n`.slice(0, 2 * (text.length >> 1))).toString('utf16le'),
  'full width': (text) =>
    text.replace(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
  'zero-width spaces': (text) =>
    text.replaceAll('PRIVATE', 'PRI\u200BVATE').replaceAll('M', 'M\u200B'),
  'NUL before': (text) => `\0${text}`,
  'no-break spaces': (text) => text.replaceAll(' ', '\u00a0'),
  'typographic dashes': (text) => text.replaceAll('--', '\u2014'),
  'lower-case labels': (text) => text.replace(/-----.*-----/g, (line) => line.toLowerCase()),
  'no dashes': (text) => text.replaceAll('-----', ''),
  'six dashes': (text) => text.replaceAll('-----', '------'),
  'URL-encoded': (text) => encodeURIComponent(text),
  'form-encoded': (text) => new URLSearchParams({ k: text }).toString(),
  'URL-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  HTML: (text) => text.replaceAll('\n', '<br>'),
  'HTML entities': (text) => text.replaceAll('\n', '&#10;').replaceAll('-', '&#x2d;'),
  'quoted-printable': (text) => text.replaceAll('=', '=3D').replaceAll('\n', '=\n'),
  base64: (text) => base64(text),
  'base64 in lines': (text) => (base64(text).match(/.{1,76}/g) ?? []).join('\n'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  'base64 twice': (text) => base64(base64(text)),
  'base64 of UTF-16': (text) => base64(Buffer.from(text, 'utf16le')),
  'base64 with a name before': (text) => `key: ${base64(text)}`,
  'base64 with its name before': (text) => `base64 ${base64(text)}`,
  'base64 glued to a word': (text) => `key${base64(text)}`,
  'base64 as a variable': (text) => `KEY=${base64(text)}`,
  'base64 under PUBLIC KEY': (text) => pem(Buffer.from(text)),
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex with its name before': (text) => `hex ${Buffer.from(text).toString('hex')}`,
  'hex with colons': (text) => (Buffer.from(text).toString('hex').match(/../g) ?? []).join(':'),
  'cut in the middle': (text) => text.slice(0, text.length >> 1),
  'cut at the front': (text) => text.slice(40),
  'without END': (text) => text.replace(/-----END.*\n/, ''),
  'without BEGIN': (text) => text.replace(/-----BEGIN.*\n/, ''),
  'label edited': (text) => text.replace(/(BEGIN|END) .*PRIVATE KEY/g, '$1 PUBLIC KEY'),
  'BEGIN edited': (text) => text.replace(/BEGIN .*PRIVATE KEY/, 'BEGIN PUBLIC KEY'),
  'END edited': (text) => text.replace(/END .*PRIVATE KEY/, 'END PUBLIC KEY'),
  'label edited and cut': (text) =>
    text.replace(/(BEGIN|END) .*PRIVATE KEY/g, '$1 PUBLIC KEY').slice(0, 120),
  'other label': (text) => text.replace(/(BEGIN|END) .*PRIVATE KEY/g, '$1 CERTIFICATE'),
  'SSH label': (text) => text.replace(/(BEGIN|END) .*PRIVATE KEY/g, '$1 SSH2 PUBLIC KEY'),
  'comment before': (text) => `# my key\n${text}`,
  'after a public key': (text) => fixture('keys/good/ec-p256.pem') + text,
  'before a public key': (text) => text + fixture('keys/good/ec-p256.pem'),
  'after a certificate': (text) => fixture('keys/wrongtype/certificate.pem') + text,
  'nested in a public block': (text) => fixture('keys/good/ec-p256.pem').replace('\n', `\n${text}`),
  'in YAML': (text) => `key: |\n${text.replaceAll(/^/gm, '  ')}`,
  'in a shell script': (text) => `export KEY="${text}"\n`,
  'the body alone': (text) => text.replace(/-----.*-----\n/g, ''),
  'the body as base64url': (text) =>
    text
      .replace(/-----.*-----\n/g, '')
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', ''),
  'the body with a word before': (text) => `der ${text.replace(/-----.*-----\n/g, '')}`,
  'the body glued to a word': (text) => `Key${text.replace(/-----.*-----\n/g, '')}`,
  'the body one character a line': (text) =>
    text.replace(/-----.*-----\n/g, '').replace(/./g, '$&\n'),
  'plus turned into blanks': (text) => text.replaceAll('+', ' '),
}
