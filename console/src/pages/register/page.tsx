import { Alert, Button, Container, Group, Stack, Text } from '@mantine/core'
import type { JwtKeyWithDetails, RegistrationSession } from '@pubring/client'
import { useMemo, useState } from 'react'
import { CopyBlock, CopyButton, CopyField } from '../../components/copy.tsx'
import { NewKeyCountdown } from '../../components/countdown.tsx'
import { Section } from '../../components/facts.tsx'
import { Logo } from '../../components/logo.tsx'
import { SnippetTabs } from '../../components/snippet-tabs.tsx'
import { MessagePage, PageHeader, QueryResult } from '../../components/states.tsx'
import { localTime, UserText } from '../../components/text.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { describeMaterial } from '../../keys/material.ts'
import { useKey } from '../../keys/queries.ts'
import { createSessionClient, signInReason } from '../../session/client.ts'
import {
  type Connection,
  ConnectionContext,
  QueryProvider,
  useApi,
  useConnection,
} from '../../session/session.tsx'
import { KeyForm } from '../project/key-form.tsx'
import { Report, TokenField, useTokenCheck } from '../verify/report.tsx'
import { samplesFor } from './samples.ts'
import { readSession } from './session.ts'

function connectionOf(linkId: string, report: Connection['report']): Connection {
  const withSignIn: Connection['withSignIn'] = (action) =>
    action().catch((error) => {
      report(error)
      throw error
    })
  return { client: createSessionClient(`registration:${linkId}`), report, withSignIn }
}

export function RegisterPage() {
  const [hasEnded, setEnded] = useState(false)
  // Reads the session, before the page knows which link it is.
  const [opening] = useState(() =>
    connectionOf('', (error) => setEnded((before) => before || signInReason(error) === 'ended')),
  )
  return (
    <QueryProvider client={opening.client} onError={opening.report}>
      <ConnectionContext value={opening}>
        <Container component="main" size={760} py="xl">
          <Logo size={36} />
          {hasEnded && (
            <Alert color="yellow" title="This link has ended" role="alert" my="md">
              It has expired or was revoked. Ask the people who sent it to you for a new one, and
              open it in this tab: the key and the label that you entered are kept. Keys that you
              registered stay.
            </Alert>
          )}
          <OpenedLink />
        </Container>
      </ConnectionContext>
    </QueryProvider>
  )
}

/** What the link is for; or that it does not work. */
function OpenedLink() {
  const { report } = useConnection()
  const query = useApi(['registration'], (_client, signal) => readSession(signal), {
    staleTime: Number.POSITIVE_INFINITY,
  })
  const linkId = query.data?.id ?? ''
  const connection = useMemo(() => connectionOf(linkId, report), [linkId, report])
  return (
    <QueryResult query={query}>
      {(session) =>
        session === null ? (
          <MessagePage title="This link does not work">
            It has expired, was revoked, was opened in another browser, or is not complete. Ask the
            people who sent you this link for a new one, and open it where you want to go on.
          </MessagePage>
        ) : (
          <ConnectionContext value={connection}>
            <Registration session={session} />
          </ConnectionContext>
        )
      }
    </QueryResult>
  )
}

/** How OpenSSL makes a key pair, for the first of these algorithms that the link accepts. */
const generated = {
  ES256: 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256',
  RS256: 'openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072',
  EdDSA: 'openssl genpkey -algorithm ED25519',
}

function Registration({ session }: { session: RegistrationSession }) {
  const { project, note, keys, algorithms, expireTime } = session
  const [kid, setKid] = useState(keys.at(-1))
  if (kid !== undefined) {
    return <Registered session={session} kid={kid} onAnother={() => setKid(undefined)} />
  }
  const accepts = (alg: string) => algorithms.some((one) => one === alg)
  const [, command] = Object.entries(generated).find(([alg]) => accepts(alg)) ?? []
  return (
    <>
      <PageHeader title="Register your public key">
        <Text size="md" fw={600} c="var(--mantine-color-text)" my="xs">
          <UserText>{note}</UserText>
        </Text>
        The project “{project.name}” verifies your tokens with this key. Your private key stays with
        you. The link works in this browser until {localTime(expireTime)}.
      </PageHeader>
      <Stack>
        <Section title="Your public key">
          <KeyForm projectId={project.id} link={session} onRegistered={setKid} />
        </Section>
        {command !== undefined && (
          <Section title="No key pair yet?">
            <Text mb="xs">
              This makes one with OpenSSL. Keep private.pem secret, and paste what is printed above.
            </Text>
            <CopyBlock
              value={`${command} -out private.pem\nopenssl pkey -in private.pem -pubout`}
              name="command that makes a key pair"
            />
          </Section>
        )}
      </Stack>
    </>
  )
}

function Registered(props: { session: RegistrationSession; kid: string; onAnother(): void }) {
  const { session, kid, onAnother } = props
  const query = useKey(session.project.id, kid)
  return (
    <QueryResult query={query}>
      {(key) => (
        <>
          <PageHeader key={kid} title="Your key is registered">
            “<UserText>{key.label}</UserText>”, {key.details.jwsAlgorithm} {describeMaterial(key)},
            in the project “{session.project.name}”.
          </PageHeader>
          <Stack>
            <Section title="Put this kid into the header of your tokens">
              <Group gap={4} wrap="nowrap">
                <span className="mono large-kid">{kid}</span>
                <CopyButton value={kid} name="kid" />
              </Group>
            </Section>
            <SignSection session={session} jwtKey={key} />
            <CheckSection session={session} jwtKey={key} />
            <NextSection session={session} jwtKey={key} onAnother={onAnother} />
          </Stack>
        </>
      )}
    </QueryResult>
  )
}

type KeyProps = { session: RegistrationSession; jwtKey: JwtKeyWithDetails }

/** Programs that sign with the key, with its own kid and issuer. */
function SignSection({ session: { issuer }, jwtKey: { id, details } }: KeyProps) {
  const [chosen, setChosen] = useState('Node')
  const samples = samplesFor({ issuer, kid: id, alg: details.jwsAlgorithm })
  return (
    <Section title="Sign a token">
      <Stack>
        <CopyField label="Issuer (iss)" value={issuer} />
        <SnippetTabs name="Languages" snippets={samples} id={chosen} onId={setChosen}>
          {({ title, file, text }) => (
            <>
              <Text c="dimmed" mb="xs">
                {file}
              </Text>
              <CopyBlock value={text} name={`program for ${title}`} />
            </>
          )}
        </SnippetTabs>
      </Stack>
    </Section>
  )
}

/** Checks a token, by which the user proves to have the private key. */
function CheckSection({ session, jwtKey }: KeyProps) {
  const [token, setToken] = useState('')
  const { check, report } = useTokenCheck(session.project.id, token)
  const proof = {
    title: jwtKey.active
      ? 'This token is valid'
      : 'The token is right, and valid once the key is active',
    text: 'You signed it with the key that you registered.',
  }
  return (
    <Section title="See that it works">
      <ActionForm
        action="Check token"
        missing={[token.trim() === '' && 'a token that you signed']}
        shown={false}
        {...check}
      >
        <TokenField
          description="Paste a token that you signed. It is neither stored nor logged."
          rows={4}
          value={token}
          onValue={setToken}
        />
      </ActionForm>
      {report && <Report report={report} proof={proof} />}
    </Section>
  )
}

function NextSection({ session, jwtKey, onAnother }: KeyProps & { onAnother(): void }) {
  const { returnUrl } = session
  return (
    <Section title="What happens next">
      {jwtKey.active ? (
        <NewKeyCountdown {...jwtKey} />
      ) : (
        <Text size="md">
          The people who sent you this link approve the key. Until then, verifiers reject its
          tokens. There is nothing more for you to do.
        </Text>
      )}
      <Group mt="md">
        {returnUrl !== undefined && (
          <Button component="a" href={returnUrl} rel="noreferrer">
            Back to {new URL(returnUrl).host}
          </Button>
        )}
        <Button variant="default" onClick={onAnother}>
          Register another key
        </Button>
      </Group>
    </Section>
  )
}
