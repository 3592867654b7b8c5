import { Button, Card, Group, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core'
import type { FormEvent } from 'react'
import { CurlHint } from '../../components/curl.tsx'

/** What is asked, as it is typed; an empty expectation is not compared. */
export type Question = { token: string; audience: string; issuer: string }

export const emptyQuestion: Question = { token: '', audience: '', issuer: '' }

export function expectedOf({ audience, issuer }: Question): { audience?: string; issuer?: string } {
  return {
    ...(audience.trim() === '' ? {} : { audience: audience.trim() }),
    ...(issuer.trim() === '' ? {} : { issuer: issuer.trim() }),
  }
}

/** The token and what is expected of it. */
export function TokenForm(props: {
  projectId: string
  issuer: string | undefined
  question: Question
  busy: boolean
  onQuestion(question: Question): void
  onSubmit(): void
}) {
  const { question, busy, onQuestion, onSubmit } = props
  const { token } = question
  const change = (part: Partial<Question>) => onQuestion({ ...question, ...part })
  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Card withBorder padding="lg">
      <form onSubmit={submit}>
        <Stack>
          <Textarea
            label="Token"
            description="It goes to this server alone, and is neither kept nor logged."
            placeholder="eyJhbGciOi…"
            rows={5}
            classNames={{ input: 'mono' }}
            value={token}
            onChange={(event) => change({ token: event.currentTarget.value })}
            spellCheck={false}
            autoComplete="off"
          />
          <Expectations {...props} onChange={change} />
          <Group justify="space-between" align="flex-start">
            <CurlHint
              method="POST"
              path={`/projects/${props.projectId}/token-checks`}
              body={{ token: 'YOUR_TOKEN', ...expectedOf(question) }}
            />
            <Button type="submit" disabled={token.trim() === ''} loading={busy}>
              Check the token
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  )
}

function Expectations(props: {
  issuer: string | undefined
  question: Question
  onChange(part: Partial<Question>): void
}) {
  const { issuer, question, onChange } = props
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TextInput
        label="Wanted audience (aud), optional"
        placeholder="orders"
        value={question.audience}
        onChange={(event) => onChange({ audience: event.currentTarget.value })}
        spellCheck={false}
      />
      <TextInput
        label="Wanted issuer (iss), optional"
        value={question.issuer}
        onChange={(event) => onChange({ issuer: event.currentTarget.value })}
        spellCheck={false}
        {...(issuer !== undefined && {
          inputContainer: (input) => (
            <Group gap="xs" wrap="nowrap">
              <div style={{ flex: 1 }}>{input}</div>
              <Button
                variant="default"
                disabled={question.issuer === issuer}
                onClick={() => onChange({ issuer })}
              >
                This project’s
              </Button>
            </Group>
          ),
        })}
      />
    </SimpleGrid>
  )
}
