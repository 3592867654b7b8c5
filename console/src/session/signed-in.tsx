import { Center, Text, Title } from '@mantine/core'
import { useEffect } from 'react'
import { usePageTitle } from '../components/states.tsx'
import { announceSession } from './channel.ts'

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
        <Text>Close this window, and go on in the one that you came from.</Text>
      </div>
    </Center>
  )
}
