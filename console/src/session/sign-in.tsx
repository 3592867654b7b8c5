import { Anchor, Button, Card, Center, Stack, Text, Title } from '@mantine/core'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Logo } from '../components/logo.tsx'
import { LoadingPage, usePageTitle } from '../components/states.tsx'
import { signInReason } from './client.ts'
import { SignInForm, useRetried } from './sign-in-form.tsx'

/** Resumes the session of the browser or, if there is none, asks to sign in. */
export function SignInPage(props: {
  signIn(apiKey: string): Promise<void>
  resume(): Promise<void>
}) {
  const { signIn, resume } = props
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
            <Text c="dimmed" size="sm" mt={4}>
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
