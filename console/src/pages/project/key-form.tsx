import { Checkbox, Group, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type Algorithm, algorithms, type KeyCheck } from '../../../../client/src/index.ts'
import { ActionForm } from '../../components/action-form.tsx'
import { isSecretText } from '../../keys/secret-text.ts'
import { useSession } from '../../session/context.tsx'
import { KeyField } from './key-field.tsx'
import { useVerdict } from './verdict.ts'
import { VerdictNotice } from './verdict-notice.tsx'

const isAlgorithm = (value: string | null | undefined): value is Algorithm =>
  algorithms.some((algorithm) => algorithm === value)

/** The algorithms that match a key, the usual one first. */
function matchingAlgorithms(check: KeyCheck | undefined): Algorithm[] {
  return (check?.key?.algorithms ?? []).filter(isAlgorithm)
}

/** Registers a key, and checks it while the user types. */
export function KeyForm(props: {
  projectId: string
  onCancel(): void
  onRegistered(kid: string): void
}) {
  const { projectId, onCancel, onRegistered } = props
  const { client } = useSession()
  const [text, setText] = useState('')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<Algorithm>()
  const [publishedKid, setPublishedKid] = useState('')
  const [active, setActive] = useState(true)
  const verdict = useVerdict(text)
  const matching = matchingAlgorithms(verdict.check)
  const algorithm = chosen !== undefined && matching.includes(chosen) ? chosen : matching[0]
  const body = {
    name: name.trim(),
    algorithm: algorithm ?? 'RSA',
    publicKeyPem: verdict.secret ? '' : text,
    ...(active ? {} : { active }),
    ...(publishedKid === '' ? {} : { publishedKid }),
  }
  const ready =
    verdict.check?.accepted === true &&
    algorithm !== undefined &&
    body.name !== '' &&
    !isSecretText(name) &&
    !isSecretText(publishedKid)
  return (
    <ActionForm
      action="Register key"
      disabled={!ready}
      request={
        ready ? { method: 'POST', path: `/projects/${projectId}/jwt-keys`, body } : undefined
      }
      run={async () => onRegistered((await client.keys.create(projectId, body)).kid)}
      onCancel={onCancel}
    >
      <KeyField text={text} onText={setText} />
      <VerdictNotice verdict={verdict} text={text} onText={setText} />
      <Group align="flex-start" grow preventGrowOverflow={false}>
        <LabelField name={name} onName={setName} />
        <AlgorithmSelect matching={matching} algorithm={algorithm} onAlgorithm={setChosen} />
      </Group>
      <PublishedKidField kid={publishedKid} onKid={setPublishedKid} />
      <Checkbox
        label="Publish now"
        description="Otherwise the key is stored inactive, and not trusted until you activate it."
        checked={active}
        onChange={(event) => setActive(event.currentTarget.checked)}
      />
    </ActionForm>
  )
}

function LabelField({ name, onName }: { name: string; onName(name: string): void }) {
  return (
    <TextInput
      label="Label"
      description="Such as the service that signs with the key."
      placeholder="orders service, spring 2026"
      value={name}
      onChange={(event) => onName(event.currentTarget.value)}
      error={
        isSecretText(name) && 'This looks like a secret. It was not sent. Enter a name instead.'
      }
      required
      withAsterisk={false}
      miw={220}
    />
  )
}

function PublishedKidField({ kid, onKid }: { kid: string; onKid(kid: string): void }) {
  return (
    <TextInput
      label="Published kid (optional)"
      description="The kid that the tokens of this key carry already. Otherwise Pubring assigns one."
      placeholder="Assigned by Pubring"
      value={kid}
      onChange={(event) => onKid(event.currentTarget.value.trim())}
      error={isSecretText(kid) && 'This looks like a secret. It was not sent.'}
    />
  )
}

function AlgorithmSelect(props: {
  matching: Algorithm[]
  algorithm: Algorithm | undefined
  onAlgorithm(algorithm: Algorithm | undefined): void
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
      onChange={(value) => onAlgorithm(isAlgorithm(value) ? value : undefined)}
      disabled={matching.length === 0}
      allowDeselect={false}
      miw={220}
    />
  )
}
