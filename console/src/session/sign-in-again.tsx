import { Button, Center, Group, Stack, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { ErrorNotice, usePageTitle } from '../components/states.tsx'
import { useFragmentLocation } from '../fragment.ts'
import { announceSession, type SignInReason } from './client.ts'
import { SignInForm } from './sign-in-form.tsx'

/** Why the user is asked to sign in, and what for, if it is for something that they do. */
export type SignInRequest = { reason: SignInReason; action: string | undefined }

const texts = {
  ended: {
    title: 'Your session has ended',
    text: 'It expired, was ended, or gives no rights any more. Sign in again to go on: what you typed is kept.',
    cancel: 'Sign out',
  },
  recent: {
    title: 'Sign in again',
    text: 'This needs a recent sign-in: a session left open is not enough. It is then done at once.',
    cancel: 'Cancel',
  },
}

export function SignInAgain(
  props: SignInRequest & {
    signIn(apiKey: string): Promise<void>
    resume(): Promise<void>
    onCancel(): void
  },
) {
  const { reason, action, signIn, resume, onCancel } = props
  const { title, text, cancel } = texts[reason]
  const [error, setError] = useState<unknown>()
  const [path] = useFragmentLocation()
  const asked = useRef(path)
  const isLeft = reason === 'recent' && path !== asked.current
  useEffect(() => {
    if (isLeft) onCancel()
  }, [isLeft, onCancel])
  return (
    <Dialog
      title={title}
      onClose={onCancel}
      closeOnClickOutside={false}
      withCloseButton={false}
      closeOnEscape={reason === 'recent'}
    >
      <Stack>
        <Text>
          {action !== undefined && (
            <Text size="md" fw={600} component="span" display="block">
              {action}
            </Text>
          )}
          {text}
        </Text>
        <SignInForm
          signIn={signIn}
          providerButton={({ url }) => (
            <Button onClick={() => openProvider(url, reason)} fullWidth>
              Sign in with SSO
            </Button>
          )}
        />
        {error !== undefined && <ErrorNotice error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {cancel}
          </Button>
          <Button variant="default" onClick={() => resume().catch(setError)}>
            I have signed in elsewhere
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

/** In a window of its own, so that this page stays; that window announces the new session. */
function openProvider(url: string, reason: SignInReason): void {
  const query = new URLSearchParams({ return: `/console/#${signedInRoute}` })
  if (reason === 'recent') query.set('recent', 'true')
  window.open(`${url}?${query}`, '_blank', 'popup,width=520,height=720')
}

export const signedInRoute = '/signed-in'

/** The end of a sign-in in a window of its own: tells the page that opened it, and closes. */
export function SignedInPage() {
  usePageTitle('Signed in')
  useEffect(() => {
    announceSession()
    window.close()
  }, [])
  return (
    <Center component="main" mih="100vh" p="md">
      <div>
        <Title order={1} size="h2">
          Signed in
        </Title>
        <Text size="md">Close this window, and go on in the one that you came from.</Text>
      </div>
    </Center>
  )
}
