import {
  Alert,
  Anchor,
  Button,
  Card,
  Center,
  Loader,
  PasswordInput,
  Stack,
  Text,
  Title,
} from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Logo } from '../components/logo.tsx'
import { keptApiKey } from './context.tsx'

/** The way in: an API key, which stays in this tab. */
export function SignIn(props: {
  signIn(apiKey: string): Promise<void>
  reason?: string | undefined
}) {
  const { signIn, reason } = props
  const [apiKey, setApiKey] = useState('')
  const [busy, setBusy] = useState(() => keptApiKey() !== undefined)
  const [error, setError] = useState<unknown>()
  const resumed = useRef(false)
  const field = useRef<HTMLInputElement>(null)

  useEffect(() => field.current?.focus(), [])

  useEffect(() => {
    const kept = keptApiKey()
    if (kept === undefined || resumed.current) return
    resumed.current = true
    signIn(kept)
      .catch(setError)
      .finally(() => setBusy(false))
  }, [signIn])

  async function submit(event: FormEvent) {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    await signIn(apiKey).catch(setError)
    setBusy(false)
  }

  return (
    <Center component="main" className="sign-in" mih="100vh" p="md">
      <Card w="100%" maw={440} padding="xl" withBorder shadow="sm">
        <form onSubmit={submit}>
          <Stack>
            <Logo size={36} />
            <div>
              <Title order={1} size="h2">
                Sign in to Pubring
              </Title>
              <Text c="dimmed" size="sm" mt={4}>
                Register, rotate and revoke the public keys of your JWTs.
              </Text>
            </div>
            {reason !== undefined && (
              <Alert color="yellow" icon={<IconInfoCircle />} role="status">
                {reason} Sign in again with one that works.
              </Alert>
            )}
            <PasswordInput
              label="API key"
              description="It stays in this tab and is forgotten when you sign out or close it."
              placeholder="pubring_…"
              value={apiKey}
              onChange={(event) => setApiKey(event.currentTarget.value)}
              autoComplete="off"
              spellCheck={false}
              required
              withAsterisk={false}
              ref={field}
            />
            {error !== undefined && <ErrorNotice error={error} />}
            <Button type="submit" disabled={apiKey.trim() === '' && !busy} loading={busy} fullWidth>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              No API key yet? The first start of the server prints one; an admin makes more. All
              that this page does is in the{' '}
              <Anchor href="../docs/" underline="always">
                API
              </Anchor>{' '}
              too.
            </Text>
          </Stack>
        </form>
      </Card>
    </Center>
  )
}

/** While the parts of a page are on their way. */
export function Waiting() {
  return (
    <Center mih={240}>
      <Loader role="status" aria-label="Loading" />
    </Center>
  )
}
