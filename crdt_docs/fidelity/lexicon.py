"""The words that the readers of a text know by heart, English and Chinese. Data only; must never hold a rule."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _groups(text: str) -> dict[str, str]:
    """Each line is a group of stems that count as one, under its first."""
    return {word: line.split()[0] for line in text.strip().splitlines() for word in line.split()}


FUNCTION: Final = _words("""
a an the of in on at to for and or but nor so yet with without by from as is are was were be been being am it its this
that these those which who whom whose what when where while how than then there their they them he she his her him we
our us you your yours i my me mine not no into onto over under about between through during after before also can
could
may might must shall should will would do does did done doing has have had having if because due both each any all
some
most more other others only own same very just up down out off per via within among if else such too again ever
itself themselves himself herself here now until till upon across against along around toward towards whether either
neither please still already yet since s t re ve ll d m cannot
don doesn didn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn needn
""")
"""Latin words that carry no matter of their own."""

FRAMING: Final = _words("""
hello hi hey welcome back good morning afternoon evening work working worked task tasks continue continued ready pick
left stand stands standing status summary recap overview open question questions point points decide decided decision
decisions settled agree agreed next step steps constraint constraints hold holds keep kept remain remains remaining
unresolved pending current currently far note notes remember reminder key everything nothing here ready goal resume
last time since stop stopped where need needs needed requirement requirements rule rules order know mind thing things
first then finally meanwhile also important critical major open-ended issue issues item items follow following
outstanding confirmed choice chosen chose result results output outputs draft waiting wait team today so-far catch
plan planned remind brief quick short update state set fixed firm matter matters list ahead forward action actions
background context progress ongoing discussion discussed discuss clear clarify unclear answer answered unanswered
anything something someone somebody everyone anybody nobody one two three four five six seven eight nine ten
proceed go going let lets like want would shall start started begin began move moved make made get got
come came take taken see below above still summarise summarize conclude concluded conclusion regarding concerning
""")
"""Latin words of which a resumption is built, whatever it is about."""

COMMON: Final = _words("""
payment payments term terms contract contracts agreement agreements clause clauses notice deadline deadlines budget
price prices pricing cost costs fee fees delivery deliveries launch release releases review reviews revision revisions
redline legal finance marketing sales engineering design product support security privacy compliance procurement
operations management leadership board staff hiring candidate candidates interview interviews offer offers role roles
salary data report reports document documents file files version versions draft drafts proposal proposals section
sections chapter chapters paper papers study studies survey surveys sample samples participant participants
experiment experiments analysis method methods results reference references trip travel flight flights hotel hotels
train trains ticket tickets booking bookings room rooms visa visas itinerary guest guests venue dinner lunch
database databases server servers service services client clients customer customers user users vendor vendors
supplier
suppliers partner partners indemnity liability cap caps limit limits penalty penalties governing law laws
jurisdiction termination renewal confidentiality insurance warranty warranties tax taxes invoice invoices discount
deposit deposits refund refunds total amount amounts number numbers rate rates quality test tests testing rollout
rollback migration feature features bug bugs fix fixes build builds deployment deployments backup backups access
approval approvals permission permissions sign-off signature signatures scope schedule timeline date dates day days
week weeks month months year years quarter meeting meetings call calls email emails message messages comment comments
people person group members member owner owners lead leads manager managers director office company companies
counsel lawyer lawyers auditor auditors both each every either neither all any some most many few several another
other others such same it he she we they you i this that these those there here who what when where why how which
if when once until unless because although though while since before after during within without under over above
below between among against despite instead otherwise however therefore moreover furthermore additionally finally
first second third last lastly next then now today tomorrow yesterday later soon recently currently previously
formerly
originally initially earlier eventually meanwhile afterwards afterward also only just even still already yet never
always
often sometimes usually perhaps maybe please thanks yes no not none nothing nobody everything everybody everyone
anything anyone something someone somebody for from by with of in on at to as and or but so nor the a an my our your
his her its their is are was were be been do does did has have had can could may might must shall should will would
let use using used keep send sends sent make ship ships shipped book booked pay pays paid sign signed review confirm
confirmed decide decided agree agreed approve approved accept accepted reject rejected ask asked tell get give take
go come see say said run write read add remove change changed move moved set put start stop finish complete prepare
update check find look need needs want wants hold holds stay stays remain remains cover covers include includes
require
requires publish post deploy deployed merge test tested measure train hire hired interviewed invite draft drafted
work works working wait waiting welcome hello hi hey dear good great remember note critical important major minor
normal open closed pending done ready active decision decisions question questions constraint constraints step steps
goal status summary resume task tasks item items point points rule rules fact facts output outputs source sources
english chinese french german spanish italian japanese european american british asian african
ok okay fyi asap tbd tba ps pm am utc gmt cet est pst nb re qa faq
""")
"""Latin words that are no names, though they may stand capitalised at the head of a sentence or a heading."""

MONTHS: Final = {
    name: number + 1
    for number, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|"
        "october oct|november nov|december dec".split("|")
    )
    for name in names.split()
}
WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        "monday mon 周一 星期一 礼拜一|tuesday tues tue 周二 星期二 礼拜二|wednesday weds wed 周三 星期三 礼拜三|"
        "thursday thurs thu 周四 星期四 礼拜四|friday fri 周五 星期五 礼拜五|saturday sat 周六 星期六 礼拜六|"
        "sunday sun 周日 周天 星期日 星期天 礼拜天".split("|")
    )
    for name in names.split()
}

SAME: Final = _groups("""
pay payment payable paid
termin terminat end
cap limit ceil maximum
deadline due
client customer
vendor supplier
lawyer counsel attorney solicitor
agreement contract
govern law
requir requir mandator obligator
start begin began commenc kickoff
ship release launch
send sent deliver
tell told inform
choose chose chosen pick select
meet met meeting
hold held
write wrote written
spend spent
find found
keep kept
build built
lead led
leave left
lose lost
run ran
speak spoke spoken
teach taught
win won
grow grew grown
know knew known
see saw seen
take took taken
give gave given
sell sold
drive drove
train trainer
make made
pric cost
fund budget
expir laps
employe staff
hir recruit
buy bought purchas
flight fly flew
hotel accommod lodg
photo imag pictur
bug defect
db databas
doc document
repo repositor
app applic
ad advert advertis
reimburs refund
delet eras
renew renewal
accept approv approval acceptanc
confidential secret
anonym anonymis anonymiz
particip subject
publish publicat
""")
"""Stems that count as one word."""

OPPOSITE: Final = _groups("""
accept reject declin refus deny disapprov veto
includ exclud omit
allow disallow
enabl disabl
keep drop discard
increas decreas reduc
agree disagre
pass fail
add remov
public privat
""")
"""Stems of which the later stand for the first, denied."""

ROLES: Final = _groups("""
government ministry ministries
bank lender
supplier vendor
client customer
investor shareholder
landlord
regulator
court judge
union
insurer
competitor
police
contractor subcontractor
consultant
press journalist
university
hospital
agency
partner
board
auditor
""")
"""The parties that one deals with, by their calling; the first of a line stands for all of it."""

ROLES_ZH: Final = _groups("""
政府 市政府 主管部门
银行
供应商 供货商
客户 顾客
投资人 投资方 股东
房东
监管机构 监管部门 监管方
法院
工会
保险公司
竞争对手
警方
承包商 分包商
咨询公司 顾问
媒体 记者
大学
医院
代理商 经销商
合作伙伴
董事会
审计师 审计机构
""")

GIVEN_NAMES: Final = _words("""
aaron adam adrian aisha alan alex alexander alice alison amanda amir amy ana andrea andrew angela anita anna anne
anton
antonio ava barbara ben benjamin beth brian bruno camila carla carlos carmen carol caroline catherine cecilia charles
charlotte chen chloe chris christian christine claire clara daniel dana david deborah diana diego dmitri edward elara
elena eli elias elizabeth ella emily emma eric erik eva evelyn fatima felix fiona francis frank gabriel george
giulia grace greg hannah harry hassan helen henry hiroshi hugo ian ibrahim igor ines ingrid isaac isabel ivan jack
james
jan jane jason jean jennifer jessica joan joanna joe john jonas jose joseph josh julia julian julie kamal karen karl
kate katherine keith kenji kevin kim laura lea leila lena leo leon li liam lily linda lisa louis lucas lucia lucy luis
luke maja marco marcus margaret maria marie marina mario mark marta martin mary matthew max mei mia michael michelle
miguel mohammed monica nadia nancy natalie nathan nia nicholas nick nina nora oliver olivia omar oscar pablo patricia
patrick paul paula pedro peter philip priya rachel rahul raj rebecca ricardo richard robert rosa ruth ryan sam samuel
sandra sara sarah sean sofia sonia sophia sophie stefan stella stephen steve susan sven tanja tariq thomas tim tina
tom
tomas tony ursula valentina vera victor victoria viktor vincent walter wei wendy william xavier yan yasmin yuki yusuf
zara zoe
""")

SURNAMES_ZH: Final = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章云苏潘葛奚范彭郎鲁韦昌马苗凤"
    "方俞任袁柳鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于傅皮卞齐康伍余元顾孟黄穆萧尹姚邵汪祁毛狄贝明臧戴宋庞"
    "熊纪舒屈项祝董梁杜阮蓝闵季贾路江童颜郭梅林钟徐邱骆高夏蔡田樊胡霍虞万柯卢莫房解应丁宣邓洪包左石崔吉龚程裴陆"
    "荣翁惠曲封储靳段焦侯全班仰秋仲宫宁仇甘武刘景詹叶司黎薄白蒲从鄂索赖卓蔺屠蒙池乔阳苍双闻莘党翟谭贡姬申冉桑桂"
    "牛寿通边燕温庄柴阎连茹习艾鱼容向古易慎戈廖庾终居衡步都耿满弘匡国文寇广禄阙东欧沃利蔚越师巩聂晁敖冷辛阚那简"
    "饶曾关肖"
)
COMMON_ZH: Final = _words("""
周一 周二 周三 周四 周五 周六 周日 周末 周期 周边 方案 方式 方面 方向 方法 任务 任何 任意 任职 时间 于是 安全 安排
安装 成本 石油
程序 高级 高于 高度 高层 高管 高铁 明确 明天 明年 明细 金额 金融 余款 余额 应该 应当 应在 应于 应由 路线 路径 全部
全体 全面 全程 向客
国内 国际 国家 国外 文件 文档 文本 广告 广泛 东西 利润 利率 利息 师傅 关于 关键 关系 关注 连接 连续 通过 通知 通常
通用 容量 容易
平台 边界 温度 连同 万元 万一 万人 包括 包含 包装 左右 常用 常规 常见 严格 严禁 严重 华东 华南 华北 毛利 毛坯 元旦
余下 路由 路上 解决
解除 解释 易于 简单 简历 简要 那么 那个 那些 那就 那边 曾经 从而 从此 双方 双周 双倍 申请 索引 索赔 向量 居住 步骤
都要 都在 都是 满足
满意 满额 师生 越来 董事 董事会 段落 封面 封闭 储存 储备 全文 班次 班级 高价 祝您 祝好 项目 项下 章节 章程 云端 云服
秦岭 柏林 江苏 江西
宁波 宁夏 昌平 钟头 景点 景区 田野 林业 房间 房东 房型 房价 解约 宣布 宣传 白天 白皮 黄金 石材 万科 章程 马上 常务
齐全 贺卡 明显 明日
方可 方能 方便 利用 连带 华为 应付 应收 应对 应用 应急 应聘 时候 和解 容错 通道 阳台 终止 终于 终端 终稿 终版 双签
文案 文字 文章 关闭
金主 元件 常驻 广州 东京 东莞 欧洲 欧元 欧盟 文献 蒙古 高峰 高速 古城 牛奶 步行 冷藏 冷链 居中 满减 沃土 国庆 司机
司法 左侧 包车 包间
曲线 乐意 乐园 安静 段时 严谨 宁可 连夜 华语 元素 施工 施行 费用 费率 许可 许多 何时 何人 何种 何处 汤底 金牌 于本
于该 余地 钱款 江南
应为 应不 应先 应与 应按 应把 全年 全额 全球 全员 全新 全套 全国 常年 向我 向对 向您 向他 高铁票 都会 都将 都需 都由
时将 任一 方将
史料 毕业 毕竟 马路 花费 单位 管理 平均 平衡 平时 纪要 纪录 纪律 计划 季度 季节 贡献 党委 梅雨 甘肃 武汉 武装 郑州
杭州 苏州 徐州 温州
""")
"""Chinese words that begin like a surname and are none."""
