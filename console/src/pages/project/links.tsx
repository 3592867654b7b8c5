import { Box, Card, Stack, Text } from '@mantine/core'
import type { JwtKey, RegistrationLink } from '@pubring/client'
import { ActionsMenu, DataTable, RowName, TwoLines } from '../../components/data-table.tsx'
import { Facts, Section } from '../../components/facts.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import {
  quoted,
  RelativeTime,
  rowNames,
  TextLink,
  UserText,
  withVisibleControls,
} from '../../components/text.tsx'
import { ActionDialog, ActionForm, useOpenDialog } from '../../forms/action-form.tsx'
import { useKeyChanges } from '../../keys/queries.ts'
import { useChange, useRights } from '../../session/session.tsx'
import { useVerdict, VerdictNotice } from './verdict-notice.tsx'

export function WaitingKeys({ links, keys }: { links: RegistrationLink[]; keys: JwtKey[] }) {
  // A later change shows that a person has decided about the key.
  const untouched = keys.filter(({ active, createTime, updateTime }) => {
    return !active && createTime === updateTime
  })
  return untouched.flatMap((key) => {
    const link = links.find((each) => each.keys.includes(key.id))
    return link === undefined ? [] : [<WaitingKey key={key.id} jwtKey={key} link={link} />]
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

export function RegistrationLinks(props: { projectId: string; links: RegistrationLink[] }) {
  const { projectId, links } = props
  const { mayWrite } = useRights(projectId)
  const [open, setOpen] = useOpenDialog(`links.${projectId}`, ['revoke'])
  const revoked = links.find(({ id }) => id === open?.id)
  const nameOf = rowNames(links, ({ note }) => withVisibleControls(note))
  const isLive = ({ state, expireTime }: RegistrationLink) =>
    ['open', 'used'].includes(state) && Date.parse(expireTime) > Date.now()
  return (
    <Box mt="md">
      <Section title="Registration links">
        <DataTable
          rows={links}
          columns={[
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
            {
              title: 'Actions',
              cell: (link) =>
                mayWrite &&
                isLive(link) && (
                  <ActionsMenu
                    name={`the link ${nameOf(link)}`}
                    actions={[
                      {
                        label: 'Revoke',
                        isDangerous: true,
                        onClick: () => setOpen({ action: 'revoke', id: link.id }),
                      },
                    ]}
                  />
                ),
            },
          ]}
        />
        {revoked !== undefined && (
          <RevokeLink projectId={projectId} link={revoked} onClose={() => setOpen(undefined)} />
        )}
      </Section>
    </Box>
  )
}

function RevokeLink(props: { projectId: string; link: RegistrationLink; onClose(): void }) {
  const { projectId, link, onClose } = props
  const { id, note, state, keys, createTime } = link
  const change = useChange(['links', projectId])
  return (
    <ActionDialog
      title={`Revoke ${quoted(note)}?`}
      action="Revoke"
      danger
      request={{ method: 'DELETE', path: `/projects/${projectId}/registration-links/${id}` }}
      run={() => change((client) => client.registrationLinks.delete(projectId, id))}
      onClose={onClose}
    >
      <Facts
        name="The link"
        facts={{
          Note: <UserText>{note}</UserText>,
          State: <StateBadge state={state} />,
          Created: <RelativeTime time={createTime} />,
          Keys: keys.length,
        }}
      />
      It cannot be opened any more, and the session of the person who opened it ends. Keys that came
      through it stay.
    </ActionDialog>
  )
}
