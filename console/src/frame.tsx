import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Container,
  Group,
  Menu,
  NavLink,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  IconHistory,
  IconKey,
  IconLogout,
  IconMoon,
  IconStack2,
  IconSun,
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { PageBoundary } from './components/boundary.tsx'
import { FocusMemory } from './components/dialog.tsx'
import { LiveStatus } from './components/live-status.tsx'
import { Logo } from './components/logo.tsx'
import { UserText } from './components/user-text.tsx'
import { clearDrafts } from './forms/drafts.ts'
import { useRights, useSession } from './session/context.tsx'

/** The header and navigation around every page. */
export function Frame({ children }: { children: ReactNode }) {
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
          <Navigation onNavigate={close} />
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

function Header({ menuOpened, onToggleMenu }: { menuOpened: boolean; onToggleMenu(): void }) {
  return (
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
        <ColorSchemeButton />
        <AccountMenu />
      </Group>
    </Group>
  )
}

function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const [location] = useLocation()
  const { mayManage, unbound } = useRights()
  const pages = [
    { href: '/', label: unbound ? 'Projects' : 'Project', icon: IconStack2, shown: true },
    { href: '/api-keys', label: 'API keys', icon: IconKey, shown: mayManage },
    { href: '/ledger', label: 'Ledger', icon: IconHistory, shown: mayManage },
  ]
  const isCurrent = (href: string) =>
    href === '/' ? location === '/' || location.startsWith('/projects') : location === href
  return pages
    .filter(({ shown }) => shown)
    .map(({ href, label, icon: Icon }) => (
      <NavLink
        key={href}
        component={Link}
        href={href}
        label={label}
        leftSection={<Icon size={18} />}
        active={isCurrent(href)}
        aria-current={isCurrent(href) ? 'page' : undefined}
        onClick={onNavigate}
      />
    ))
}

function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={() => setColorScheme(other)}
      aria-label={`Switch to ${other} mode`}
    >
      {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  )
}

function AccountMenu() {
  const { self, signOut } = useSession()
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <UnstyledButton>
          <Group gap={6} wrap="nowrap">
            <VisuallyHidden>Signed in with API key</VisuallyHidden>
            <Text size="sm" maw={{ base: 80, xs: 160 }} truncate>
              <UserText>{self.name}</UserText>
            </Text>
            <Badge variant="light" size="sm" tt="none" className="unshrinkable">
              {self.role}
            </Badge>
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <span className="mono">{self.prefix}…</span>
        </Menu.Label>
        <Menu.Item
          leftSection={<IconLogout size={16} />}
          onClick={() => {
            clearDrafts()
            signOut()
          }}
        >
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
