import { Alert, Anchor, Button, Collapse, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { SignInOptions } from '@pubring/client'
import { type FormEvent, useCallback, useEffect, useId, useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { isOutage } from '../components/outage.ts'
import { ApiKeyField } from '../forms/text-fields.tsx'
import { createSessionClient, isConsoleAt, parsePastedApiKey } from './client.ts'

const retryMs = 3_000

type Provider = NonNullable<SignInOptions['oidc']>

/**
 * The ways to sign in: through the OpenID provider, if there is one, or with an API key, which leaves
 * its field and this page when it is sent.
 */
export function SignInForm(props: {
  signIn(apiKey: string): Promise<void>
  /** The button that leads to the provider. */
  providerButton(provider: Provider): React.ReactNode
}) {
  const { signIn, providerButton } = props
  const { options, error } = useSignInOptions()
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  if (options === undefined) return error === undefined ? null : <ErrorNotice error={error} />
  const { consoleUrl, oidc } = options
  return (
    <Stack>
      {!isConsoleAt(consoleUrl) && (
        <Alert color="yellow" title="This is not the address of the console">
          Changes are accepted only from{' '}
          <Anchor href={`${consoleUrl}${location.hash}`} underline="always" inherit>
            {consoleUrl}
          </Anchor>
          , the public URL of this service.
        </Alert>
      )}
      {oidc === undefined ? (
        <ApiKeyForm signIn={signIn} />
      ) : (
        <>
          {providerButton(oidc)}
          <div>
            <Anchor
              component="button"
              type="button"
              size="sm"
              underline="always"
              onClick={toggle}
              aria-expanded={opened}
              aria-controls={id}
            >
              Use an API key
            </Anchor>
            <Text span size="sm" c="dimmed">
              {' '}
              for local use and emergencies
            </Text>
          </div>
          <Collapse id={id} expanded={opened}>
            <div>{opened && <ApiKeyForm signIn={signIn} />}</div>
          </Collapse>
        </>
      )}
    </Stack>
  )
}

/** How people can sign in. */
function useSignInOptions() {
  const [options, setOptions] = useState<SignInOptions>()
  const load = useCallback(
    async () => setOptions(await createSessionClient().sessions.options()),
    [],
  )
  return { options, error: useRetried(load).error }
}

/** Calls `action`, again and again during an outage; gives the last error. */
export function useRetried(action: () => Promise<void>) {
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
