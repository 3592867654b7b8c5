import { Alert, Anchor, Button, Card, Center, Stack, Text, Title } from '@mantine/core'
import { IconInfoCircle } from '@tabler/icons-react'
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Logo } from '../components/logo.tsx'
import { isOutage } from '../components/outage.ts'
import { usePageTitle } from '../components/page-title.ts'
import { ApiKeyField } from '../forms/text-fields.tsx'
import { storedApiKey } from './context.tsx'

const retryMs = 3_000

/** Signs in with an API key, and resumes the session of this tab. */
export function SignInPage(props: {
  signIn(apiKey: string): Promise<void>
  reason?: string | undefined
}) {
  const { signIn, reason } = props
  const [apiKey, setApiKey] = useState('')
  const [loading, setLoading] = useState(() => storedApiKey() !== undefined)
  const [error, setError] = useState<unknown>()
  const resumed = useRef(false)
  usePageTitle('Sign in')

  const resume = useCallback(() => {
    const stored = storedApiKey()
    if (stored === undefined) return
    setLoading(true)
    signIn(stored)
      .then(() => undefined, setError)
      .finally(() => setLoading(false))
  }, [signIn])

  useEffect(() => {
    if (resumed.current) return
    resumed.current = true
    resume()
  }, [resume])

  // An outage does not end the session.
  useEffect(() => {
    if (error === undefined || !isOutage(error) || apiKey !== '') return
    const timer = setTimeout(resume, retryMs)
    return () => clearTimeout(timer)
  }, [error, apiKey, resume])

  async function submit(event: FormEvent) {
    event.preventDefault()
    setLoading(true)
    setError(undefined)
    await signIn(apiKey).catch(setError)
    setLoading(false)
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
                {reason} Sign in with another one.
              </Alert>
            )}
            <ApiKeyField
              label="API key"
              description="Kept in this tab until you sign out or close it."
              placeholder="pubring_…"
              value={apiKey}
              onValue={setApiKey}
              autoComplete="off"
              spellCheck={false}
              required
              withAsterisk={false}
            />
            {error !== undefined && <ErrorNotice error={error} />}
            <Button type="submit" loading={loading} fullWidth>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              No API key yet? The server prints one when it first starts, and an admin can create
              more. Everything here is also available in the{' '}
              <Anchor href="../docs/" underline="always">
                API
              </Anchor>
              .
            </Text>
          </Stack>
        </form>
      </Card>
    </Center>
  )
}
