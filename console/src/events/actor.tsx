import { Badge, Tooltip } from '@mantine/core'
import type { Event, Person } from '@pubring/client'
import { CopyField } from '../components/copy.tsx'
import { UserText, withVisibleControls } from '../components/user-text.tsx'

type Actor = Event['actor']

export const nameOfPerson = ({ name, email, subject }: Person) => name ?? email ?? subject

/** The kind of an actor; undefined for Pubring itself and commands on the server, whose name says so. */
function kindOf({ user, workload, apiKeyId, jwtKeyId, link }: Actor): string | undefined {
  if (workload !== undefined) return 'workload'
  if (user !== undefined) return 'person'
  if (jwtKeyId !== undefined) return 'key'
  if (link !== undefined) return 'registration link'
  return apiKeyId === undefined ? undefined : 'API key'
}

/** The text that identifies an actor to the service: the subject of a person or workload, else an id or name. */
export function actorId({ workload, user, apiKeyId, jwtKeyId, link, name }: Actor): string {
  return workload?.subject ?? user?.subject ?? apiKeyId ?? jwtKeyId ?? link?.id ?? name
}

/** The name of an actor and what it is, so that an API key named like a person is not taken for one. */
export function ActorName({ actor }: { actor: Actor }) {
  const kind = kindOf(actor)
  const identity = actor.workload ?? actor.user
  const detail = identity
    ? `${identity.subject} at ${identity.issuer}`
    : (actor.apiKeyId ?? actor.jwtKeyId ?? actor.link?.id)
  return (
    <>
      <UserText>{actor.name}</UserText>
      {kind !== undefined && (
        <>
          {' '}
          <Tooltip label={withVisibleControls(detail ?? '')} multiline maw={400}>
            <Badge component="span" size="xs" variant="default" tt="none" fw={500}>
              {kind}
            </Badge>
          </Tooltip>
        </>
      )}
      {actor.workload && ' by an access rule'}
    </>
  )
}

/** The identity of an actor: issuer and subject of a person or workload, and the key. */
export function ActorDetails({ actor }: { actor: Actor }) {
  const { user, workload, apiKeyId, jwtKeyId, link } = actor
  const kind = kindOf(actor)
  const identity = workload ?? user
  return (
    <>
      {identity && <CopyField label={`Issuer of the ${kind}`} value={identity.issuer} />}
      {identity && <CopyField label={`Subject of the ${kind}`} value={identity.subject} />}
      {workload && <CopyField label="Id of the access rule" value={workload.ruleId} />}
      {apiKeyId && <CopyField label="Id of the API key that acted" value={apiKeyId} />}
      {jwtKeyId && <CopyField label="Kid of the key that acted" value={jwtKeyId} />}
      {link && <CopyField label="Id of the registration link" value={link.id} />}
    </>
  )
}
