import { Badge, Group, Menu, Text, UnstyledButton, VisuallyHidden } from '@mantine/core'
import type { Self } from '@pubring/client'
import { IconLogout } from '@tabler/icons-react'
import { useState } from 'react'
import { useSession } from '../session/context.tsx'
import { strongestRole } from '../session/rights.ts'
import { Dialog } from './dialog.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { ProjectName } from './project-name.tsx'
import { localTime } from './times.tsx'
import { UserText } from './user-text.tsx'

/** Who is signed in, with which roles and until when; and the way out. */
export function AccountMenu() {
  const { self, signOut } = useSession()
  const [error, setError] = useState<unknown>()
  const kind = self.type === 'person' ? 'Person' : 'API key'
  const leave = () => {
    setError(undefined)
    signOut().catch(setError)
  }
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <UnstyledButton>
            <Group gap={6} wrap="nowrap">
              <VisuallyHidden>Signed in as {kind}</VisuallyHidden>
              <Text size="sm" maw={160} truncate visibleFrom="xs">
                <UserText>{self.name}</UserText>
              </Text>
              <Badge variant="light" size="sm" tt="none" className="unshrinkable">
                {strongestRole(self)}
              </Badge>
            </Group>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown maw={340}>
          <Menu.Label>
            <Identity self={self} kind={kind} />
          </Menu.Label>
          <Menu.Divider />
          <Menu.Label>
            {self.grants.map(({ role, projectId }) => (
              <div key={`${role} ${projectId}`}>
                {role} of <ProjectName id={projectId} />
              </div>
            ))}
          </Menu.Label>
          <Menu.Divider />
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={leave}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {error !== undefined && (
        <Dialog title="You are still signed in" onClose={() => setError(undefined)}>
          <ErrorNotice error={error} retry={leave} />
        </Dialog>
      )}
    </>
  )
}

function Identity({ self, kind }: { self: Self; kind: string }) {
  const { person, session } = self
  return (
    <div style={{ overflowWrap: 'anywhere' }}>
      {kind}
      {person?.email !== undefined && (
        <div>
          <UserText>{person.email}</UserText>
        </div>
      )}
      {person !== undefined && (
        <div>
          <UserText>{person.subject}</UserText> at <UserText>{person.issuer}</UserText>
        </div>
      )}
      {session !== undefined && <div>Session until {localTime(session.expireTime)}</div>}
    </div>
  )
}
