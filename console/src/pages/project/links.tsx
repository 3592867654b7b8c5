import { Box, Card, Stack, Text } from '@mantine/core'
import type { JwtKey, Project, RegistrationLink } from '@pubring/client'
import { useState } from 'react'
import {
  ActionsMenu,
  type Column,
  DataTable,
  RowFacts,
  RowName,
  TwoLines,
} from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Section } from '../../components/facts.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { quoted, RelativeTime, rowNames, TextLink, UserText } from '../../components/text.tsx'
import { ActionDialog, ActionForm, useDraft, useOpenDialog } from '../../forms/action-form.tsx'
import { ChoiceField } from '../../forms/choice-field.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { fieldOf } from '../../forms/text-fields.tsx'
import { ExpiryField, fromExpiryInput } from '../../forms/time-field.tsx'
import { useKeyChanges } from '../../keys/queries.ts'
import { useRights } from '../../session/session.tsx'
import { useVerdict, VerdictNotice } from './verdict-notice.tsx'

export function WaitingKeys({ links, keys }: { links: RegistrationLink[]; keys: JwtKey[] }) {
  return keys.flatMap((key) => {
    const link = links.find((each) => each.keys.includes(key.id))
    // A later change shows that a person has decided about the key.
    const isUntouched = !key.active && key.createTime === key.updateTime
    return link && isUntouched ? [<WaitingKey key={key.id} jwtKey={key} link={link} />] : []
  })
}

function WaitingKey({ jwtKey, link }: { jwtKey: JwtKey; link: RegistrationLink }) {
  const { id, projectId, label, createTime, publicKeyPem } = jwtKey
  const { mayWrite } = useRights(projectId)
  const verdict = useVerdict(publicKeyPem)
  const activation = useKeyChanges(jwtKey).update({ active: true })
  return (
    <Card withBorder mb="sm" component="section" aria-label={`${quoted(label)} waits for approval`}>
      <Stack gap="sm">
        <Text>
          <TextLink href={`/projects/${projectId}/keys/${id}`} fw={600}>
            <UserText>{label}</UserText>
          </TextLink>{' '}
          waits for approval. It came through the registration link “
          <UserText>{link.note}</UserText>” <RelativeTime time={createTime} />. To reject it, delete
          it.
        </Text>
        <VerdictNotice verdict={verdict} text={publicKeyPem} keepsKid onConvert={() => {}} />
        {mayWrite && (
          <ActionForm action="Activate" purpose={`Activate ${quoted(label)}`} {...activation} />
        )}
      </Stack>
    </Card>
  )
}

const columns: Column<RegistrationLink>[] = [
  {
    title: 'Name',
    cell: ({ note, newKeys }) => (
      <TwoLines below={newKeys === 'active' ? 'keys are active at once' : ''}>
        <RowName>{note}</RowName>
      </TwoLines>
    ),
  },
  { title: 'State', cell: ({ state }) => <StateBadge state={state} /> },
  { title: 'Keys', cell: ({ keys }) => keys.length },
  { title: 'Created', cell: ({ createTime }) => <RelativeTime time={createTime} /> },
  { title: 'Ends', cell: ({ expireTime }) => <RelativeTime time={expireTime} /> },
]

const isLive = ({ state, expireTime }: RegistrationLink) =>
  ['open', 'used'].includes(state) && Date.parse(expireTime) > Date.now()

export function RegistrationLinks(props: { projectId: string; links: RegistrationLink[] }) {
  const { projectId, links } = props
  const { mayWrite } = useRights(projectId)
  const [open, setOpen] = useOpenDialog(`links.${projectId}`, ['revoke'])
  const revoked = links.find(({ id }) => id === open?.id)
  const nameOf = rowNames(links, ({ note }) => note)
  const menu = (link: RegistrationLink) => {
    const onClick = () => setOpen({ action: 'revoke', id: link.id })
    const actions = [{ label: 'Revoke', isDangerous: true, onClick }]
    return (
      mayWrite &&
      isLive(link) && <ActionsMenu name={`the link ${nameOf(link)}`} actions={actions} />
    )
  }
  return (
    <Box mt="md">
      <Section title="Registration links">
        <DataTable rows={links} columns={[...columns, { title: 'Actions', cell: menu }]} />
        {revoked !== undefined && (
          <ActionDialog
            title={`Revoke ${quoted(revoked.note)}?`}
            action="Revoke"
            danger
            changes={[['links', projectId]]}
            send={(client) => client.registrationLinks.delete(projectId, revoked.id)}
            onClose={() => setOpen(undefined)}
          >
            <RowFacts name="The link" row={revoked} columns={columns} />
            It cannot be opened any more, and the session of the person who opened it ends. Keys
            that came through it stay.
          </ActionDialog>
        )}
      </Section>
    </Box>
  )
}

const meanings = {
  inactive: 'Keys wait until you activate them. Verifiers do not trust them before.',
  active: 'Verifiers trust the keys at once: the person who opens the link can sign tokens.',
}
const usual = 'inactive' as keyof typeof meanings
const emptyInput = { note: '', expiry: '', newKeys: usual }

export function LinkDialog({ project, onClose }: { project: Project; onClose(): void }) {
  const draft = `link.${project.id}`
  const [input, setInput] = useDraft(draft, emptyInput)
  const [url, setUrl] = useState<string>()
  const expireTime = fromExpiryInput(input.expiry)
  const body = {
    note: input.note.trim(),
    newKeys: input.newKeys,
    ...(expireTime === undefined ? {} : { expireTime }),
  }
  if (url !== undefined) {
    return (
      <SecretDialog title="Registration link created" name="Link" secret={url} onClose={onClose}>
        The link is shown only once. Send it to the person who has the key pair: the first browser
        that opens it can register keys of this project, and nothing else.
      </SecretDialog>
    )
  }
  return (
    <Dialog title="Registration link" onClose={onClose}>
      <ActionForm
        action="Create link"
        purpose="Create a registration link"
        missing={[body.note === '' && 'a note']}
        draft={draft}
        changes={[['links', project.id]]}
        send={(client) => client.registrationLinks.create(project.id, body)}
        onSent={(link) => setUrl(link.url)}
        onCancel={onClose}
      >
        A customer or partner registers their own public key with it, without an account.
        <LabelField
          label="Note"
          description="Who it is for, and what you need. They read it."
          placeholder="ACME Corp, key of the orders service"
          {...fieldOf(input, setInput, 'note')}
          autoFocus
        />
        <ChoiceField
          label="New keys are"
          choices={['inactive', 'active']}
          choice={input.newKeys}
          onChoice={(newKeys) => setInput({ newKeys })}
          description={meanings[input.newKeys]}
        />
        <ExpiryField
          {...fieldOf(input, setInput, 'expiry')}
          presetDays={[1, 7, 30]}
          description="At most 30 days ahead. Leave empty for 7 days."
        />
      </ActionForm>
    </Dialog>
  )
}
