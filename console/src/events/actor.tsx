import { Badge, Tooltip } from '@mantine/core'
import type { Event, Person } from '@pubring/client'
import { CopyField } from '../components/copy.tsx'
import { UserText, withVisibleControls } from '../components/text.tsx'

type Actor = Event['actor']

export const nameOfPerson = ({ name, email, subject }: Person) => name ?? email ?? subject

/** What acted: its kind and its id, with the issuer of a person or workload; Pubring itself has neither. */
function identityOf(actor: Actor): { kind?: string; id?: string; issuer?: string } {
  const { user, workload, apiKeyId, jwtKeyId, link } = actor
  const identity = workload ?? user
  if (identity !== undefined) {
    return { kind: workload ? 'workload' : 'person', id: identity.subject, issuer: identity.issuer }
  }
  if (jwtKeyId !== undefined) return { kind: 'key', id: jwtKeyId }
  if (link !== undefined) return { kind: 'registration link', id: link.id }
  return apiKeyId === undefined ? {} : { kind: 'API key', id: apiKeyId }
}

/** The text that identifies an actor to the service; for Pubring and commands on the server, a name. */
export const actorId = (actor: Actor): string => identityOf(actor).id ?? actor.name

/** The name of an actor and what it is, so that an API key named like a person is not taken for one. */
export function ActorName({ actor }: { actor: Actor }) {
  const { kind, id = '', issuer } = identityOf(actor)
  const detail = withVisibleControls(issuer === undefined ? id : `${id} at ${issuer}`)
  return (
    <>
      <UserText>{actor.name}</UserText>{' '}
      {kind !== undefined && (
        <Tooltip label={detail} multiline maw={400}>
          <Badge component="span" size="xs" variant="default" tt="none" fw={500}>
            {kind}
          </Badge>
        </Tooltip>
      )}
      {actor.workload && ' by an access rule'}
    </>
  )
}

export function ActorDetails({ actor }: { actor: Actor }) {
  const { kind, id, issuer } = identityOf(actor)
  const { workload, apiKeyId } = actor
  return (
    <>
      {issuer && <CopyField label={`Issuer of the ${kind}`} value={issuer} />}
      {id && <CopyField label={`${issuer ? 'Subject' : 'Id'} of the ${kind}`} value={id} />}
      {workload && <CopyField label="Id of the access rule" value={workload.ruleId} />}
      {issuer && apiKeyId && <CopyField label="Id of the API key" value={apiKeyId} />}
    </>
  )
}
