import {
  AppShell,
  Badge,
  Burger,
  Container,
  Group,
  Indicator,
  Menu,
  NavLink,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { Self, Warning } from '@pubring/client'
import {
  IconAlertTriangle,
  IconBell,
  IconInfoCircle,
  IconLogout,
  IconMoon,
  IconStack2,
  IconSun,
} from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { PageBoundary } from './components/boundary.tsx'
import { ToolButton } from './components/buttons.tsx'
import { Dialog, FocusMemory } from './components/dialog.tsx'
import { LiveStatus } from './components/live-status.tsx'
import { Logo } from './components/logo.tsx'
import { ProjectName } from './components/project-name.tsx'
import { ErrorNotice } from './components/states.tsx'
import { counted, localTime, UserText, withVisibleControls } from './components/text.tsx'
import { SearchButton } from './search/button.tsx'
import { strongestRole, useRights, useSession } from './session/session.tsx'
import { placeOf } from './warnings/places.ts'
import { textOf, useWarnings } from './warnings/project-warnings.tsx'

type NavigationPage = { path: string; label: string; Icon: typeof IconStack2; isForAll?: boolean }

export function Frame({ pages, children }: { pages: NavigationPage[]; children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure(false)
  return (
    <FocusMemory>
      <AppShell
        header={{ height: 60 }}
        navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding="md"
      >
        <AppShell.Header>
          <Header menuOpened={opened} onToggleMenu={toggle} />
        </AppShell.Header>
        <AppShell.Navbar p="sm" aria-label="Main">
          <Navigation pages={pages} onNavigate={close} />
        </AppShell.Navbar>
        <AppShell.Main>
          <Container size="lg" px={0} py="sm">
            <LiveStatus />
            <PageBoundary>{children}</PageBoundary>
          </Container>
        </AppShell.Main>
      </AppShell>
    </FocusMemory>
  )
}

const Header = ({ menuOpened, onToggleMenu }: { menuOpened: boolean; onToggleMenu(): void }) => (
  <Group h="100%" px="md" justify="space-between" wrap="nowrap">
    <Group gap="sm" wrap="nowrap">
      <Burger
        opened={menuOpened}
        onClick={onToggleMenu}
        hiddenFrom="sm"
        size="sm"
        aria-label="Menu"
      />
      <Link href="/" className="quiet-link" aria-label="Pubring">
        <Group gap="xs" wrap="nowrap">
          <Logo />
          <Text fw={700} size="lg" visibleFrom="xs">
            Pubring
          </Text>
        </Group>
      </Link>
    </Group>
    <Group gap="xs" wrap="nowrap">
      <SearchButton />
      <WarningBell />
      <ColorSchemeButton />
      <AccountMenu />
    </Group>
  </Group>
)

function Navigation(props: { pages: NavigationPage[]; onNavigate(): void }) {
  const { pages, onNavigate } = props
  const [location] = useLocation()
  const { mayAudit, onlyProject } = useRights()
  const label = onlyProject === undefined ? 'Projects' : 'Project'
  const projects = { path: '/', label, Icon: IconStack2, isForAll: true }
  const isCurrent = (href: string) =>
    href === '/' ? location === '/' || location.startsWith('/projects') : location === href
  return [projects, ...pages]
    .filter(({ isForAll = false }) => mayAudit || isForAll)
    .map(({ path, Icon, ...page }) => (
      <NavLink
        key={path}
        component={Link}
        href={path}
        label={page.label}
        leftSection={<Icon size={18} />}
        active={isCurrent(path)}
        aria-current={isCurrent(path) ? 'page' : undefined}
        onClick={onNavigate}
      />
    ))
}

function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <ToolButton
      Icon={scheme === 'dark' ? IconSun : IconMoon}
      label={`Switch to ${other} mode`}
      onClick={() => setColorScheme(other)}
    />
  )
}

function AccountMenu() {
  const { self, signOut } = useSession()
  const { mutate: leave, error, reset } = useMutation({ mutationFn: signOut })
  const kind = self.type === 'person' ? 'Person' : 'API key'
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <UnstyledButton>
            <Group gap={6} wrap="nowrap">
              <VisuallyHidden>Signed in as {kind}</VisuallyHidden>
              <Text maw={160} truncate visibleFrom="xs">
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
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => leave()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {error !== null && (
        <Dialog title="You are still signed in" onClose={reset}>
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
      {person !== undefined && (
        <>
          <div>{person.email && <UserText>{person.email}</UserText>}</div>
          <UserText>{person.subject}</UserText> at <UserText>{person.issuer}</UserText>
        </>
      )}
      {session !== undefined && <div>Session until {localTime(session.expireTime)}</div>}
    </div>
  )
}

const maxListed = 20

function WarningBell() {
  const { data: warnings = [], isError } = useWarnings()
  const queries = useQueryClient()
  useEffect(() => {
    const refresh = () => void queries.refetchQueries({ queryKey: ['warnings'], stale: true })
    addEventListener('hashchange', refresh)
    return () => removeEventListener('hashchange', refresh)
  }, [queries])
  const { length } = warnings
  const name = length === 0 ? 'No warnings' : counted(length, 'warning')
  const isCritical = warnings.some(({ severity }) => severity === 'critical')
  return (
    <Menu position="bottom-end" width={380}>
      <Indicator
        label={length > 99 ? '99+' : length}
        disabled={length === 0}
        size={17}
        offset={4}
        color={isCritical ? 'red.8' : 'orange.9'}
        inline
      >
        <Menu.Target>
          <ToolButton Icon={IconBell} label={name} />
        </Menu.Target>
      </Indicator>
      <Menu.Dropdown className="warning-list">
        {length > 0 && <Menu.Label>{name}</Menu.Label>}
        {length === 0 && (
          <Menu.Item disabled>
            {isError ? 'The warnings could not be loaded' : 'Nothing needs attention'}
          </Menu.Item>
        )}
        {warnings.slice(0, maxListed).map((warning) => (
          <WarningItem key={JSON.stringify(warning)} warning={warning} />
        ))}
        {length > maxListed && (
          <Menu.Item component={Link} href="/">
            {length - maxListed} more: see the projects
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

function WarningItem({ warning }: { warning: Warning }) {
  const { severity, label, projectName } = warning
  const Icon = severity === 'info' ? IconInfoCircle : IconAlertTriangle
  const subject = [label, projectName].filter((each) => each !== undefined).join(' · ')
  return (
    <Menu.Item
      component={Link}
      href={placeOf(warning)}
      leftSection={
        <Icon size={18} aria-hidden {...(severity === 'critical' && { className: 'warning' })} />
      }
    >
      {subject !== '' && <Text fw={600}>{withVisibleControls(subject)}</Text>}
      <Text>{textOf(warning)}</Text>
    </Menu.Item>
  )
}
