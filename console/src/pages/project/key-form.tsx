import { Button, Checkbox, FileButton, Group, Select, Text } from '@mantine/core'
import type { Algorithm, KeyCheck } from '@pubring/client'
import { isAlgorithm } from '@pubring/intake/algorithms'
import { IconFile } from '@tabler/icons-react'
import { type DragEvent, useState } from 'react'
import { ActionForm } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { LabelField } from '../../forms/label-field.tsx'
import { fieldOf, TextArea, TextField } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput } from '../../forms/time-field.tsx'
import { readKeyFile } from '../../keys/file.ts'
import { useSession } from '../../session/context.tsx'
import { useVerdict, VerdictNotice } from './verdict-notice.tsx'

/** The algorithms that match a key, the usual one first. */
function matchingAlgorithms(check: KeyCheck | undefined): Algorithm[] {
  return (check?.key?.algorithms ?? []).filter(isAlgorithm)
}

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

/** The body of the request; a member that is not used is left out. */
function bodyOf(input: typeof emptyInput, algorithm: Algorithm) {
  const expireTime = fromExpiryInput(input.expiry)
  return {
    name: input.label.trim(),
    algorithm,
    publicKeyPem: input.text,
    ...(input.active ? {} : { active: false }),
    ...(expireTime === undefined ? {} : { expireTime }),
    ...(input.publishedKid === '' ? {} : { publishedKid: input.publishedKid }),
  }
}

// Long because its fields share the input and the verdict.
/** Registers a key, and checks it while the user types. */
export function KeyForm(props: {
  projectId: string
  action?: string
  /** Whether the key is published in any case. */
  isUrgent?: boolean
  /** The parts that the page still needs besides the key. */
  missing?: (string | false)[]
  onCancel(): void
  onRegistered(kid: string): void
}) {
  const { projectId, action = 'Register key', isUrgent = false, missing = [] } = props
  const { onCancel, onRegistered } = props
  const { client } = useSession()
  const draft = `key.${projectId}`
  const [draftInput, change] = useDraft(draft, emptyInput)
  const input = isUrgent ? { ...draftInput, active: true } : draftInput
  const verdict = useVerdict(projectId, input.text)
  const matching = matchingAlgorithms(verdict.check)
  const algorithm = matching.find((each) => each === input.algorithm) ?? matching[0]
  const accepted = verdict.check?.accepted === true && verdict.duplicate === undefined
  const body = accepted && algorithm !== undefined ? bodyOf(input, algorithm) : undefined
  return (
    <ActionForm
      action={action}
      missing={[
        body === undefined && missingKey(input.text, verdict),
        input.label.trim() === '' && 'a label',
        ...missing,
      ]}
      draft={draft}
      request={
        body && body.name !== ''
          ? { method: 'POST', path: `/projects/${projectId}/jwt-keys`, body }
          : undefined
      }
      run={async () => body && onRegistered((await client.keys.create(projectId, body)).kid)}
      onCancel={onCancel}
    >
      <KeyField text={input.text} onText={(text) => change({ text })} />
      <div aria-live="polite">
        <VerdictNotice
          verdict={verdict}
          text={input.text}
          onConvert={({ pem, kid = '', label = '' }) => {
            const isTyped = input.publishedKid !== input.convertedKid
            change({
              text: pem,
              publishedKid: kid === '' && isTyped ? input.publishedKid : kid,
              label: input.label || label,
              convertedKid: kid,
            })
          }}
        />
      </div>
      <Group align="flex-start" grow preventGrowOverflow={false}>
        <LabelField
          label="Label"
          description="Such as the service that signs with the key."
          placeholder="orders service, spring 2026"
          {...fieldOf(input, change, 'label')}
        />
        <AlgorithmSelect
          matching={matching}
          algorithm={algorithm}
          onAlgorithm={(value) => change({ algorithm: value })}
        />
      </Group>
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
      {!isUrgent && (
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

function missingKey(text: string, { pending, duplicate }: ReturnType<typeof useVerdict>): string {
  if (text.trim() === '') return 'a public key'
  if (pending) return 'the check of the key'
  return duplicate === undefined ? 'an acceptable public key' : 'a key that is not registered yet'
}

function AlgorithmSelect(props: {
  matching: Algorithm[]
  algorithm: Algorithm | undefined
  onAlgorithm(algorithm: Algorithm): void
}) {
  const { matching, algorithm, onAlgorithm } = props
  return (
    <Select
      label="Algorithm"
      description="The alg of the tokens signed with this key."
      placeholder={matching.length === 0 ? 'Enter a key first' : ''}
      data={matching.map((value) => ({
        value,
        label: value === 'RSA' ? 'RSA (alg RS256)' : value,
      }))}
      value={algorithm ?? null}
      onChange={(value) => isAlgorithm(value) && onAlgorithm(value)}
      disabled={matching.length === 0}
      allowDeselect={false}
      miw={220}
    />
  )
}

/** In bytes; larger than any key that the service accepts. */
const maxFileSize = 64 * 1024

// Long because pasting, dropping and choosing a file share the error.
/** Accepts a key as pasted text, as a dropped file, or as a chosen file. */
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
            <Button {...props} variant="default" size="xs" leftSection={<IconFile size={14} />}>
              Choose a file
            </Button>
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
