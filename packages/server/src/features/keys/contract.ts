import { algorithmNames } from '@pubring/intake/algorithms'
import type { Static } from 'typebox'
import {
  ClearableTime,
  component,
  described,
  exampleToken,
  flag,
  keyStates,
  mergePatch,
  optionalText,
  optionalTime,
  requestBody,
  Time,
  TimeInput,
  Type,
  text,
  Uuid,
} from '../../kernel/contract.ts'

export const AlgorithmName = Type.Enum([...algorithmNames], {
  description:
    'The `alg` of tokens signed with this key; `RSA` means RS256. It must match the key.',
  examples: ['RSA'],
})

/** An example key whose private key was discarded. */
const examplePem = [
  '-----BEGIN PUBLIC KEY-----',
  'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtN9ZLC5CFn2+WIzJIpMR',
  'YtpB+1M/81MhwKeJocGir1faPwVsgFfZRVguvZbiwZt61wVq8TzlkgXk7TKAM6nM',
  'HCfXzUMAVMoW5XFaOfMM34Q+TEqQiP1txtiZYeDfb1rRI6/YDe32Du4AKBRdSywg',
  'IEtz1P0lvGLJl7/RVbexI/OlP6QO4AaVyk7qDJpZaDeX9hkG8x5dkuok6XrUvckR',
  'rpeunl7qN0qo0kY+bPJZK9MNmkXFJUHTnSudpTsUfC360I8To7ojl5CsNJt5+N7h',
  'LGamRm25/e8zpoIonl5DCQhkX9b2671AI4asYmfBqTxtUySuQWh5flMWB/zQ8c+4',
  'RQIDAQAB',
  '-----END PUBLIC KEY-----',
  '',
].join('\n')

const label = text(
  'Free text of 1 to 255 code points, without control and bidirectional formatting characters. White space at either end is removed.',
  'orders service, spring 2026',
)

const keyMembers = {
  id: Uuid,
  projectId: Uuid,
  label,
  algorithm: AlgorithmName,
  publicKeyPem: text('Canonical SPKI PEM: `PUBLIC KEY`, 64 columns, LF, one final LF.', examplePem),
  active: flag('Whether verifiers trust the key: it is activated and not expired.', true),
  createTime: Time,
  updateTime: Time,
  expireTime: Type.Optional(Time),
}

export const JwtKey = component('JwtKey', 'A registered JWT public key.', keyMembers)
export type JwtKey = Static<typeof JwtKey>

const PublishedKid = optionalText(
  'The `kid` of the key in the JWKS and in the header of its tokens, if that is not its id: 1 to 255 characters of `A-Z a-z 0-9 . _ ~ : / + = @ # -`. It cannot be changed, and never names another key of the project, even after this one is deleted.',
  'orders-2026-05',
)

export const KeyState = Type.Enum([...keyStates], {
  description:
    '`compromised`: active, although its private key is known to others: replace and deactivate it. `spreading`: active, but not every verifier knows it yet: do not sign with it. `current`: active and known to every verifier that honors the cache headers. `previous`: active, and another key replaces it by a rotation: do not sign with it any more. `off`: deactivated. `expired`: past its `expireTime`.',
  examples: ['current'],
})
export type KeyState = Static<typeof KeyState>

export const KeyUse = component(
  'KeyUse',
  'What verifiers have reported of the use of a key. No report never means that the key is unused.',
  {
    since: described(
      Time,
      'All that are counted in `reporters` have reported without a gap since then, and the key exists.',
    ),
    interval: Type.Integer({
      description: 'The longest time between two reports of one of them, in seconds.',
      examples: [3_600],
    }),
    lastTime: optionalTime('The last use that was reported; absent if none was.'),
    lastReporter: optionalText('The verifier that reported it.', 'orders-api'),
    lastExp: optionalTime('The latest `exp` of the tokens that were seen.'),
    reporters: Type.Integer({ description: 'Verifiers that report.', examples: [3] }),
    silent: Type.Integer({
      description:
        'Verifiers whose last report is older than three of their intervals. They may still accept tokens of the key.',
      examples: [0],
    }),
    silentSince: optionalTime('The last report of the one that has been silent for the longest.'),
  },
)
export type KeyUse = Static<typeof KeyUse>

/** The reasons of OpenID Federation 1.0 section 8.7.3, from the weakest to the strongest. */
export const endReasons = ['unspecified', 'superseded', 'compromised'] as const
export type EndReason = (typeof endReasons)[number]

export const endReasonName = (description: string) =>
  Type.Enum([...endReasons], { description, examples: ['superseded'] })

export const KeyStateEntry = component('KeyStateEntry', 'The state of a key.', {
  kid: Uuid,
  state: KeyState,
  endsBecause: Type.Optional(
    Type.Enum(['compromised', 'superseded'], {
      description:
        'Why the key has ended or has to. `compromised`: its private key is known to others; it can never be activated again. `superseded`: another key replaces it.',
    }),
  ),
  convergedTime: optionalTime(
    'While some verifiers may not know the state yet: when all that honor the cache headers do.',
  ),
  use: Type.Optional(KeyUse),
})
export type KeyStateEntry = Static<typeof KeyStateEntry>

const KeyDetails = Type.Object({
  state: KeyState,
  kty: Type.String({ examples: ['RSA'] }),
  bits: Type.Optional(
    Type.Integer({ description: 'RSA: length of the modulus in bits.', examples: [2048] }),
  ),
  crv: optionalText('EC and OKP: the curve, such as `P-256`.'),
  jwsAlgorithm: Type.String({ examples: ['RS256'] }),
  thumbprint: text('RFC 7638, SHA-256, base64url.'),
  spkiSha256: text(
    'SHA-256 over the DER of the public key (SPKI), in lower-case hex: `openssl pkey -pubin -in public.pem -outform DER | openssl dgst -sha256`.',
  ),
  convergedTime: described(
    Time,
    'From this time on, every verifier that honors the cache headers knows the current state of the key. Sign with a new key, or delete an old one, only after this time.',
  ),
  publishedKid: PublishedKid,
  introducedBy: optionalText(
    'Id of the key that vouched for it; or `link:` and the id of the registration link that it came through.',
    'link:019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
  ),
  ended: Type.Optional(
    Type.Object(
      {
        time: optionalTime('Absent if the key was never active.'),
        reason: endReasonName(
          '`superseded`: another key replaces it. `compromised`: others know its private key, so it is never activated again. `unspecified`: any other reason.',
        ),
      },
      { description: 'When and why the key ended; absent while it is active.' },
    ),
  ),
  use: Type.Optional(KeyUse),
})

export const JwtKeyWithDetails = component(
  'JwtKeyWithDetails',
  'A JWT key with details of its key material.',
  { ...keyMembers, details: KeyDetails },
)
export type JwtKeyWithDetails = Static<typeof JwtKeyWithDetails>

export const KeyWarning = Type.Object({
  code: Type.Enum(['last_active_key', 'vouched_keys_active'], {
    description:
      '`last_active_key`: the change leaves the project, or its `jwks.json`, without an active key. `vouched_keys_active`: the change ends the key, now or at its expiry, and keys that it vouched for, directly or through others, are active beyond that.',
    examples: ['last_active_key'],
  }),
  detail: text('What happens and what to do.'),
})
export type KeyWarning = Static<typeof KeyWarning>

export const JwtKeyUpdated = component('JwtKeyUpdated', 'A JWT key after a change.', {
  ...keyMembers,
  details: KeyDetails,
  warnings: Type.Optional(
    Type.Array(KeyWarning, { description: 'What the change entails; absent if nothing.' }),
  ),
})
export type JwtKeyUpdated = Static<typeof JwtKeyUpdated>

export const PublicKeyPemInput = text(
  'One public key: PEM (`-----BEGIN PUBLIC KEY-----`), or the JSON that the tool of a key management service prints.',
  examplePem,
)

const newKeyMembers = {
  name: Type.Optional(label),
  label: Type.Optional(described(label, 'An alias of `name`. One of the two is required.')),
  algorithm: AlgorithmName,
  publicKeyPem: PublicKeyPemInput,
  active: Type.Optional(Type.Boolean({ default: true, examples: [true] })),
  expireTime: Type.Optional(TimeInput),
  publishedKid: PublishedKid,
}

export const JwtKeyCreate = requestBody(
  'JwtKeyCreate',
  {
    ...newKeyMembers,
    proof: optionalText(
      'Only with an API key that was exchanged for a rotation token, and required then: another rotation token, signed with the private key of the new key and with its thumbprint in `cnf.jkt`.',
    ),
  },
  {
    anyOf: [{ required: ['name'] }, { required: ['label'] }],
    examples: [{ name: 'orders service, spring 2026', algorithm: 'RSA', publicKeyPem: examplePem }],
  },
)
export type JwtKeyCreate = Static<typeof JwtKeyCreate>

export const JwtKeyCreated = component(
  'JwtKeyCreated',
  'The id of the key. Set it as `kid` in the header of every JWT that you sign with the key, unless the key has a `publishedKid`: then set that.',
  { kid: Uuid },
)
export type JwtKeyCreated = Static<typeof JwtKeyCreated>

export const JwtKeyUpdate = mergePatch('JwtKeyUpdate', {
  label,
  name: described(label, 'An alias of `label`.'),
  active: Type.Boolean({ examples: [false] }),
  expireTime: ClearableTime,
  reason: endReasonName(
    'Why the key ends: with `active: false` or an `expireTime`, or alone for a key that is off or has an `expireTime`. It can be raised, from `unspecified` to `superseded` to `compromised`, but not lowered. A key that is activated again has no reason any more.',
  ),
})
export type JwtKeyUpdate = Static<typeof JwtKeyUpdate>

export const JwtKeyEnd = requestBody('JwtKeyEnd', {
  token: text(
    'A JWT that the key itself signed. Its header has the `typ` `pubring-end+jwt`. Claims: `iss`, the issuer of the project; `aud`, the public URL of this service; `sub`, the kid; `jti`, an id that is used once; `exp`, at most 5 minutes ahead; `expireTime`, when the key ends (RFC 3339), at once if that is past; optionally `reason`, why it ends, which is never lowered.',
    exampleToken,
  ),
})
export type JwtKeyEnd = Static<typeof JwtKeyEnd>

export const JwtKeyEnded = component('JwtKeyEnded', 'When the key ends.', {
  kid: Uuid,
  expireTime: Time,
})
export type JwtKeyEnded = Static<typeof JwtKeyEnded>

/** A key of an import, which may restore one of another registry. */
export const KeyImportItem = requestBody(
  'KeyImportItem',
  {
    ...newKeyMembers,
    expireTime: Type.Optional(
      described(
        TimeInput,
        'Must be in the future. With `createTime`, it must only be after `createTime`, because a restored key may have expired.',
      ),
    ),
    reason: Type.Optional(
      endReasonName(
        'Why it ended, or will: with `active: false` or an `expireTime`. Only `compromised` may mark a key without an end.',
      ),
    ),
    kid: optionalText(
      'Only for admins of all projects: the kid to restore, a lower-case UUID (RFC 9562). No project may ever have used it for other key material, even in a deleted key.',
      '019ac8f2-6c1e-7d53-a1b0-5f0e4c9d2b71',
    ),
    createTime: Type.Optional(
      described(
        TimeInput,
        'Only for admins of all projects: the time to restore, not in the future.',
      ),
    ),
    updateTime: Type.Optional(
      described(
        TimeInput,
        'Only for admins of all projects: the time to restore, not before `createTime`, which it requires, and not in the future.',
      ),
    ),
  },
  { anyOf: [{ required: ['name'] }, { required: ['label'] }] },
)
export type KeyImportItem = Static<typeof KeyImportItem>
