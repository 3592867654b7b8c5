import { Button, Checkbox, Group, Select, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type Algorithm, algorithms } from '../../../../client/src/index.ts'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { isSecretText } from '../../keys/secret-text.ts'
import { useSession } from '../../session/context.tsx'
import { KeyField } from './key-field.tsx'
import { useVerdict } from './verdict.ts'
import { Verdict } from './verdict-notice.tsx'

/** As it stands in the list: `RSA` is not what tokens say. */
const nameOf = (algorithm: Algorithm) =>
  algorithm === 'RSA' ? 'RSA (tokens say RS256)' : algorithm

const isAlgorithm = (value: string | null | undefined): value is Algorithm =>
  algorithms.some((algorithm) => algorithm === value)

/** EdDSA comes before Ed25519, which few libraries write into a token yet (RFC 9864). */
function inOrder(fitting: readonly string[]): Algorithm[] {
  const known = fitting.filter(isAlgorithm)
  return known.includes('EdDSA') ? [...new Set<Algorithm>(['EdDSA', ...known])] : known
}

/** The form of a new key, with the verdict on it while one types. */
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
  const [active, setActive] = useState(true)
  const verdict = useVerdict(text)
  const fitting = inOrder(verdict.check?.key?.algorithms ?? [])
  const algorithm = chosen !== undefined && fitting.includes(chosen) ? chosen : fitting[0]
  const body = {
    name: name.trim(),
    algorithm: algorithm ?? 'RSA',
    publicKeyPem: verdict.secret ? '' : text,
    ...(active ? {} : { active }),
  }
  const save = useMutation({
    mutationFn: () => client.keys.create(projectId, body),
    onSuccess: ({ kid }) => onRegistered(kid),
  })
  const secretName = isSecretText(name)
  const ready =
    verdict.check?.accepted === true && name.trim() !== '' && !secretName && algorithm !== undefined
  function submit(event: FormEvent) {
    event.preventDefault()
    if (ready) save.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <KeyField text={text} onText={setText} />
        <Verdict verdict={verdict} text={text} onText={setText} />
        <Group align="flex-start" grow preventGrowOverflow={false}>
          <TextInput
            label="Label"
            description="For people: which service signs with it, and since when."
            placeholder="orders service, spring 2026"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={secretName && 'This is a secret: it was not sent. Write a name.'}
            required
            withAsterisk={false}
            miw={220}
          />
          <Select
            label="Algorithm"
            description="What tokens carry as alg; what fits the key is offered."
            placeholder={fitting.length === 0 ? 'after the key' : ''}
            data={fitting.map((value) => ({ value, label: nameOf(value) }))}
            value={algorithm ?? null}
            onChange={(value) => setChosen(isAlgorithm(value) ? value : undefined)}
            disabled={fitting.length === 0}
            allowDeselect={false}
            miw={220}
          />
        </Group>
        <Checkbox
          label="Publish it at once"
          description="Switched off, it is kept but not trusted until you switch it on."
          checked={active}
          onChange={(event) => setActive(event.currentTarget.checked)}
        />
        {save.isError && <ErrorNotice error={save.error} />}
        {ready && <CurlHint method="POST" path={`/projects/${projectId}/jwt-keys`} body={body} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" disabled={!ready} loading={save.isPending}>
            Register key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
