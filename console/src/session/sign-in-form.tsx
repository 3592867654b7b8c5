import { Anchor, Button, Card, Center, Stack, Text, Title } from '@mantine/core'
import type { SignInOptions } from '@pubring/client'
import { type FormEvent, useCallback, useEffect, useState } from 'react'
import { Disclosure } from '../components/disclosure.tsx'
import { Logo } from '../components/logo.tsx'
import { isOutage } from '../components/outage.ts'
import { ErrorNotice, LoadingPage, Notice, usePageTitle } from '../components/states.tsx'
import { ApiKeyField } from '../forms/text-fields.tsx'
import { createSessionClient, isConsoleAt, parsePastedApiKey, signInReason } from './client.ts'

const retryMs = 3_000

type Provider = NonNullable<SignInOptions['oidc']>

/** The ways to sign in: through the OpenID provider, or with an API key, which no page keeps. */
export function SignInForm(props: {
  signIn(apiKey: string): Promise<void>
  providerButton(provider: Provider): React.ReactNode
}) {
  const { signIn, providerButton } = props
  const { options, error } = useSignInOptions()
  if (options === undefined) return error === undefined ? null : <ErrorNotice error={error} />
  const { consoleUrl, oidc } = options
  return (
    <Stack>
      {!isConsoleAt(consoleUrl) && (
        <Notice tone="warning" title="This is not the address of the console">
          Changes are accepted only from{' '}
          <Anchor href={`${consoleUrl}${location.hash}`} underline="always" inherit>
            {consoleUrl}
          </Anchor>
          , the public URL of this service.
        </Notice>
      )}
      {oidc === undefined ? (
        <ApiKeyForm signIn={signIn} />
      ) : (
        <>
          {providerButton(oidc)}
          <div>
            <Disclosure button={() => apiKeyButton}>
              <ApiKeyForm signIn={signIn} />
            </Disclosure>
          </div>
        </>
      )}
    </Stack>
  )
}

const apiKeyButton = (
  <Text c="dimmed" mb="xs">
    <Anchor component="span" inherit underline="always">
      Use an API key
    </Anchor>{' '}
    for local use and emergencies
  </Text>
)

function useSignInOptions() {
  const [options, setOptions] = useState<SignInOptions>()
  const load = useCallback(
    async () => setOptions(await createSessionClient().sessions.options()),
    [],
  )
  return { options, error: useRetried(load).error }
}

/** Calls `action`, again and again during an outage; gives the last error. */
function useRetried(action: () => Promise<void>) {
  const [error, setError] = useState<unknown>()
  const attempt = useCallback(() => void action().catch(setError), [action])
  useEffect(attempt, [attempt])
  useEffect(() => {
    if (error === undefined || !isOutage(error)) return
    const timer = setTimeout(attempt, retryMs)
    return () => clearTimeout(timer)
  }, [error, attempt])
  return { error, attempt }
}

function ApiKeyForm({ signIn }: { signIn(apiKey: string): Promise<void> }) {
  const [text, setText] = useState('')
  const [loading, setLoading] = useState(false)
  const [error, setError] = useState<unknown>()
  async function submit(event: FormEvent) {
    event.preventDefault()
    setError(undefined)
    try {
      const apiKey = parsePastedApiKey(text)
      setText('')
      setLoading(true)
      await signIn(apiKey)
    } catch (failure) {
      setError(failure)
    }
    setLoading(false)
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <ApiKeyField
          label="API key"
          description="Sent once, for a session of this browser. No page keeps it."
          placeholder="pubring_…"
          value={text}
          onValue={setText}
          autoComplete="off"
          spellCheck={false}
          required
          withAsterisk={false}
        />
        {error !== undefined && <ErrorNotice error={error} />}
        <Button type="submit" loading={loading} fullWidth>
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

type SignInPageProps = { signIn(apiKey: string): Promise<void>; resume(): Promise<void> }

export function SignInPage({ signIn, resume }: SignInPageProps) {
  usePageTitle('Sign in')
  // An outage does not end the session.
  const { error, attempt } = useRetried(resume)
  if (error === undefined) return <LoadingPage />
  return (
    <Center component="main" className="sign-in" mih="100vh" p="md">
      <Card w="100%" maw={440} padding="xl" withBorder shadow="sm">
        <Stack>
          <Logo size={36} />
          <div>
            <Title order={1} size="h2">
              Sign in to Pubring
            </Title>
            <Text c="dimmed" mt={4}>
              Register, rotate and revoke the public keys of your JWTs.
            </Text>
          </div>
          {signInReason(error) !== undefined ? (
            <SignInForm
              signIn={signIn}
              providerButton={({ url }) => (
                <Button component="a" href={`${url}?return=${returnPath()}`} fullWidth>
                  Sign in with SSO
                </Button>
              )}
            />
          ) : (
            <ErrorNotice error={error} retry={attempt} />
          )}
          <Text c="dimmed">
            The server prints an API key when it first starts, and an admin can create more.
            Everything here is also available in the{' '}
            <Anchor href="../docs/" underline="always">
              API
            </Anchor>
            .
          </Text>
        </Stack>
      </Card>
    </Center>
  )
}

const returnPath = () => encodeURIComponent(`/console/${location.hash}`)
