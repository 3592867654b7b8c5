import { Checkbox, FileButton, Group, Select, Text } from '@mantine/core'
import type { Algorithm, JwtKey, KeyCheck, RegistrationSession } from '@pubring/client'
import { isAlgorithm } from '@pubring/intake/algorithms'
import { IconFile } from '@tabler/icons-react'
import { type DragEvent, useState } from 'react'
import { IconButton } from '../../components/buttons.tsx'
import { Notice } from '../../components/states.tsx'
import { UserText } from '../../components/text.tsx'
import { ActionForm, useDraft } from '../../forms/action-form.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { fieldOf, TextArea, TextField } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput } from '../../forms/time-field.tsx'
import { readKeyFile } from '../../keys/file.ts'
import { type KeyRow, mayBeActivated, useKeyRow, useKeys } from '../../keys/queries.ts'
import { useVerdict, VerdictNotice } from './verdict-notice.tsx'

type LinkTerms = Pick<RegistrationSession, 'note' | 'algorithms'>

/** The algorithms that match a key, the usual one first; with a link, those of JWS that it accepts. */
function matchingAlgorithms(check: KeyCheck | undefined, link: LinkTerms | undefined): Algorithm[] {
  const matching = (check?.key?.algorithms ?? []).filter(isAlgorithm)
  return link === undefined ? matching : link.algorithms.filter((name) => matching.includes(name))
}

const algorithmLabels: Partial<Record<Algorithm, string>> = { RSA: 'RSA (alg RS256)' }

const emptyInput = {
  text: '',
  label: '',
  algorithm: '',
  publishedKid: '',
  expiry: '',
  active: true,
  /** The `publishedKid` that the last conversion set. */
  convertedKid: '',
}

function bodyOf(input: typeof emptyInput, algorithm: Algorithm) {
  const expireTime = fromExpiryInput(input.expiry)
  return {
    name: input.label.trim(),
    algorithm,
    publicKeyPem: input.text,
    ...(!input.active && { active: false }),
    ...(expireTime && { expireTime }),
    ...(input.publishedKid && { publishedKid: input.publishedKid }),
  }
}

// Long because its fields share the input and the verdict.
export function KeyForm(props: {
  projectId: string
  action?: string
  /** Whether the key is published in any case. */
  isUrgent?: boolean
  /** The parts that the page still needs besides the key. */
  missing?: (string | false)[]
  link?: LinkTerms
  onCancel?: (() => void) | undefined
  onRegistered(kid: string): void
}) {
  const { projectId, action = 'Register key', isUrgent = false, missing = [], link } = props
  const { onCancel, onRegistered } = props
  const draft = `key.${projectId}`
  const [draftInput, change] = useDraft(draft, { ...emptyInput, label: link?.note ?? '' })
  const input = isUrgent ? { ...draftInput, active: true } : draftInput
  const verdict = useVerdict(input.text)
  const keys = useKeys(link === undefined ? projectId : undefined)
  const pem = verdict.check?.publicKeyPem
  const duplicate = keys.data?.find(({ publicKeyPem }) => publicKeyPem === pem)
  const matching = matchingAlgorithms(verdict.check, link)
  const algorithm = matching.find((each) => each === input.algorithm) ?? matching[0]
  const accepted = verdict.check?.accepted === true && duplicate === undefined
  const body = accepted && algorithm !== undefined ? bodyOf(input, algorithm) : undefined
  return (
    <ActionForm
      action={action}
      missing={[
        body === undefined && missingKey(input.text, verdict, duplicate, link),
        input.label.trim() === '' && 'a label',
        ...missing,
      ]}
      draft={draft}
      // Where it is urgent, the button sends two requests.
      {...((link || isUrgent || !body?.name) && { shown: false })}
      send={async (client) => body && client.keys.create(projectId, body)}
      onSent={(created) => created && onRegistered(created.kid)}
      onCancel={onCancel}
    >
      <KeyField text={input.text} onText={(text) => change({ text })} />
      <div aria-live="polite">
        {duplicate !== undefined && <Duplicate jwtKey={duplicate} />}
        {duplicate === undefined && (
          <VerdictNotice
            keepsKid={link === undefined}
            verdict={verdict}
            text={input.text}
            onConvert={({ pem, kid = '', label = '' }) => {
              const isTyped = input.publishedKid !== input.convertedKid
              change({
                text: pem,
                publishedKid: link || (kid === '' && isTyped) ? input.publishedKid : kid,
                label: input.label || label,
                convertedKid: kid,
              })
            }}
          />
        )}
      </div>
      <Group align="flex-start" grow preventGrowOverflow={false}>
        <LabelField
          label="Label"
          description="Such as the service that signs with the key."
          placeholder="orders service, spring 2026"
          {...fieldOf(input, change, 'label')}
        />
        <Select
          label="Algorithm"
          description="The alg of the tokens signed with this key."
          placeholder={matching.length === 0 ? 'Enter a key first' : ''}
          data={matching.map((value) => ({ value, label: algorithmLabels[value] ?? value }))}
          value={algorithm ?? null}
          onChange={(value) => change({ algorithm: value ?? '' })}
          disabled={matching.length === 0}
          allowDeselect={false}
          miw={220}
        />
      </Group>
      {link === undefined && (
        <Group align="flex-start" grow preventGrowOverflow={false}>
          <ExpiryField
            {...fieldOf(input, change, 'expiry')}
            description="The key is not published after this time. Leave empty for no expiry."
          />
          <TextField
            label="Published kid (optional)"
            description="The kid that the tokens of this key carry already."
            placeholder="Assigned by Pubring"
            value={input.publishedKid}
            onValue={(kid) => change({ publishedKid: kid.trim() })}
          />
        </Group>
      )}
      {!isUrgent && link === undefined && (
        <Checkbox
          label="Publish now"
          description="Otherwise the key is stored inactive, and not trusted until you activate it."
          checked={input.active}
          onChange={(event) => change({ active: event.currentTarget.checked })}
        />
      )}
    </ActionForm>
  )
}

const either = new Intl.ListFormat('en', { type: 'disjunction' })

function missingKey(
  text: string,
  { pending, check }: ReturnType<typeof useVerdict>,
  duplicate: JwtKey | undefined,
  link: LinkTerms | undefined,
): string {
  if (text.trim() === '') return 'a public key'
  if (pending) return 'the check of the key'
  if (duplicate !== undefined) return 'a key that is not registered yet'
  return link && check?.accepted
    ? `a key for ${either.format(link.algorithms)}`
    : 'an acceptable public key'
}

function Duplicate({ jwtKey }: { jwtKey: JwtKey }) {
  const { id, label, active } = jwtKey
  const row = useKeyRow(jwtKey)
  return (
    <Notice tone="warning" title="This key is already registered">
      <Text>
        In this project it is “<UserText>{label}</UserText>”, {active ? 'active' : 'not active'},
        with the kid <span className="mono">{id}</span>. {duplicateAdvice(row)}
      </Text>
    </Notice>
  )
}

function duplicateAdvice(row: KeyRow): string {
  const { active, state, endsBecause } = row
  if ([state, endsBecause].includes('compromised')) return 'It is compromised: make a new key pair.'
  if (active) return 'You can use it as it is.'
  return mayBeActivated(row)
    ? 'Activate it instead of registering it again.'
    : 'It has expired: change its expiry instead of registering it again.'
}

/** In bytes; larger than any key that the service accepts. */
const maxFileSize = 64 * 1024

// Long because pasting, dropping and choosing a file share the error.
function KeyField({ text, onText }: { text: string; onText(text: string): void }) {
  const [dropping, setDropping] = useState(false)
  const [error, setError] = useState<string>()

  async function load(file: File | null | undefined) {
    if (file === null || file === undefined) return
    setError(undefined)
    try {
      if (file.size > maxFileSize) throw new Error('is too large for a key.')
      onText(readKeyFile(new Uint8Array(await file.arrayBuffer())))
    } catch (cause) {
      setError(`${file.name} ${cause instanceof Error ? cause.message : 'cannot be read.'}`)
    }
  }
  function drop(event: DragEvent) {
    event.preventDefault()
    setDropping(false)
    void load(event.dataTransfer.files[0])
  }
  function dragOver(event: DragEvent) {
    event.preventDefault()
    setDropping(true)
  }
  return (
    <fieldset
      className={dropping ? 'dropping' : undefined}
      onDragOver={dragOver}
      onDragLeave={() => setDropping(false)}
      onDrop={drop}
      aria-label="Public key, as text or as a file"
    >
      <TextArea
        label="Public key"
        description="Paste a key in PEM, or drop a file. Certificates, JWKs, OpenSSH keys, base64 and hexadecimal can be converted here."
        placeholder={
          '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A…\n-----END PUBLIC KEY-----'
        }
        rows={9}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
        value={text}
        onValue={(typed) => {
          setError(undefined)
          onText(typed)
        }}
        error={error}
        data-autofocus
      />
      <Group gap="sm" mt={6}>
        <FileButton onChange={(file) => void load(file)}>
          {(props) => (
            <IconButton
              {...props}
              variant="default"
              size="xs"
              Icon={IconFile}
              label="Choose a file"
            />
          )}
        </FileButton>
        <Text size="xs" c="dimmed">
          From a private key in PEM:{' '}
          <span className="mono">openssl pkey -in private.pem -pubout</span>
        </Text>
      </Group>
    </fieldset>
  )
}
