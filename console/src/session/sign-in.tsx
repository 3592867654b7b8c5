import { Anchor, Button, Card, Center, Stack, Text, Title } from '@mantine/core'
import { useCallback, useEffect, useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Logo } from '../components/logo.tsx'
import { isOutage } from '../components/outage.ts'
import { usePageTitle } from '../components/page-title.ts'
import { LoadingPage } from '../components/states.tsx'
import { signInReason } from './client.ts'
import { SignInForm } from './sign-in-form.tsx'

const retryMs = 3_000

/** Resumes the session of the browser or, if there is none, asks to sign in. */
export function SignInPage(props: {
  signIn(apiKey: string): Promise<void>
  resume(): Promise<void>
}) {
  const { signIn, resume } = props
  const [state, setState] = useState<'resuming' | 'signed out' | { error: unknown }>('resuming')
  usePageTitle('Sign in')
  const tryToResume = useCallback(() => {
    resume().catch((error) =>
      setState(signInReason(error) === undefined ? { error } : 'signed out'),
    )
  }, [resume])
  useEffect(tryToResume, [tryToResume])
  // An outage does not end the session.
  useEffect(() => {
    if (typeof state === 'string' || !isOutage(state.error)) return
    const timer = setTimeout(tryToResume, retryMs)
    return () => clearTimeout(timer)
  }, [state, tryToResume])

  if (state === 'resuming') return <LoadingPage />
  return (
    <Center component="main" className="sign-in" mih="100vh" p="md">
      <Card w="100%" maw={440} padding="xl" withBorder shadow="sm">
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
          {state === 'signed out' ? (
            <SignInForm
              signIn={signIn}
              providerButton={({ url }) => (
                <Button component="a" href={`${url}?return=${returnPath()}`} fullWidth>
                  Sign in with SSO
                </Button>
              )}
            />
          ) : (
            <ErrorNotice error={state.error} retry={tryToResume} />
          )}
          <Text size="sm" c="dimmed">
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

/** The open page of the console. */
const returnPath = () => encodeURIComponent(`/console/${location.hash}`)
